"""Reproducibility benchmark suite for contrastive self-supervised learning.

    import bench

    bench.load("dcl-table-1", scale="cifar")       # results: one row per cell and metric
    bench.histories("dcl-table-1", scale="cifar")  # recorded during training
    bench.published("dcl")                         # published values of a paper
    bench.others("dcl-nakhli")                     # measured by another project
    bench.questions("dcl-small-batch")             # published, by others and measured here
    bench.compare("eqco-table-9", scale="paper")   # measured beside published, with verdicts
    bench.claims("dcl-table-1")                    # the paper's claims, with verdicts
    bench.run("dcl-table-1", scale="smoke")        # computes the missing cells
    encoder, preprocess = bench.load_encoder("0123456789abcdef")
    bench.plot.lines(frame, x="K", metric="knn_top1", by="loss", ax=ax)

Tables are pandas DataFrames. A user's mistake raises `bench.BenchError` with the message of the
command line. Its subclass `bench.NothingMeasured` means that no result exists. `import bench` loads
neither torch nor pandas; each is loaded when a function needs it.

Examples:
    >>> import bench
    >>> bench.compare("eqco-table-9", scale="paper").verdict.unique().tolist()
    ['same']
    >>> bench.load("no-such-suite")
    Traceback (most recent call last):
    bench.errors.SuiteError: ...no suite 'no-such-suite'. `bench suites` lists all ...
"""

__version__ = "0.2.0.dev1"

_HOMES = {
    "BenchError": "bench.errors",
    "NothingMeasured": "bench.errors",
    "arrays": "bench.api",
    "claims": "bench.api",
    "compare": "bench.api",
    "histories": "bench.api",
    "load": "bench.api",
    "load_encoder": "bench.api",
    "others": "bench.api",
    "plot": "",
    "published": "bench.api",
    "questions": "bench.api",
    "run": "bench.api",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    """Return what is asked for, loaded now (PEP 562)."""
    from importlib import import_module  # which loads twenty modules itself

    if name not in _HOMES:
        raise AttributeError(f"module 'bench' has no attribute {name!r}")
    home = _HOMES[name]
    attribute = getattr(import_module(home), name) if home else import_module(f"bench.{name}")
    globals()[name] = attribute
    return attribute


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
