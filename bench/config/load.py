"""Suite files: one file -> one `Suite`, a folder -> all of them."""

from pathlib import Path

from pydantic import ValidationError

from bench.config.explain import explain
from bench.config.suite import Suite
from bench.config.yaml_file import load_yaml
from bench.errors import SuiteError, choices


def load_suite(path: Path) -> Suite:
    """Return the suite of the file.

    Raises:
        SuiteError: in one line, whatever is wrong with it.
    """
    data = load_yaml(path, SuiteError)
    if not isinstance(data, dict):
        raise SuiteError(f"{path}: a suite is a mapping of keys, found {type(data).__name__}")
    strays = [key for key in data if not isinstance(key, str)]
    if strays:
        raise SuiteError(f"{path}: key {strays[0]!r} is not text")
    try:
        suite = Suite.model_validate(data)
    except ValidationError as error:
        raise SuiteError(explain(error, path, root=Suite)) from None
    if suite.name != path.stem:
        twin = path.with_stem(suite.name)
        also = f"; {twin} bears that name" if twin.exists() else ""
        raise SuiteError(
            f"{path}: name: found '{suite.name}', expected the file's name '{path.stem}'{also}"
        )
    return suite


def suite_paths(folder: Path) -> dict[str, Path]:
    """Return the suite files of a folder by name.

    Raises:
        SuiteError: there is no such folder, or two files share a name.
    """
    if not folder.is_dir():
        raise SuiteError(f"{folder}: no such folder; --suites names the folder of suite files")
    paths: dict[str, Path] = {}
    for path in sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")]):
        if not path.is_file():
            continue
        if path.stem in paths:
            raise SuiteError(
                f"{path}: a second suite named '{path.stem}', beside {paths[path.stem]}"
            )
        paths[path.stem] = path
    return paths


def find_suite(name: str, folder: Path) -> Path:
    """Return the file of a suite given by name, or by a path that ends in .yaml or .yml."""
    if name.endswith((".yaml", ".yml")):
        return Path(name)
    paths = suite_paths(folder)
    if name not in paths:
        raise SuiteError(
            f"{folder}: no suite '{name}'. {choices(name, list(paths), 'bench suites')}"
        )
    return paths[name]
