"""An installed package that brings a method and a suite, as files in folders."""

from pathlib import Path

from tests.fakes.suites import DIGITS, changed, to_yaml

MARKER = "imported.txt"
"""Beside the package; its code writes it when it is imported."""
CODE = f"""from pathlib import Path

Path(__file__).parents[1].joinpath("{MARKER}").write_text(__name__)
"""
METHODS = """moco-cold:
  what: MoCo v2 at a low temperature
  like: moco-v2
  coordinates: {tau: [0.05, me]}
"""
COLD = changed(
    DIGITS,
    {
        "name": "cold",
        "title": "A low temperature on digits",
        "fixed.method": "moco-cold",
        "fixed.epochs": 1,
        "fixed.knn_k": 3,
        "grid": {"momentum": [0.9, 0.99]},
        "tables": [{"title": "kNN", "metric": "knn_top1", "rows": ["momentum"]}],
    },
)
GROUPS = {
    "bench.methods": "cold = cold_methods.methods",
    "bench.suites": "cold = cold_methods.suites",
}


def install_plugin(
    folder: Path, *, groups: dict[str, str] = GROUPS, name: str = "Cold_Methods"
) -> Path:
    """Write what an installer leaves of the package `cold_methods`; return its folder.

    Args:
        folder: is put on the path.
        groups: entry points by group.
        name: of the distribution.
    """
    package = folder / "cold_methods"
    texts = {
        "__init__.py": CODE,
        "methods/cold.yaml": METHODS,
        "suites/cold.yaml": to_yaml(COLD),
    }
    for place, text in texts.items():
        path = package / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    info = folder / f"{name}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
    points = "".join(f"[{group}]\n{point}\n" for group, point in groups.items())
    (info / "entry_points.txt").write_text(points)
    return package
