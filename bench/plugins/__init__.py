"""What installed packages bring: suites, methods and objectives, found without running any of it.

A package names folders of YAML files under the entry points `bench.suites`, `bench.methods` and
`bench.objectives`. Folders are found, and their files read, without importing the package: only
`bench.plugins.load`, which computing cells calls, runs code of theirs.
"""
