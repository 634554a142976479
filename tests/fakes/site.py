"""A small site from two suites and the reference results: one whole, one partial."""

from pathlib import Path
from typing import Any

import yaml

from bench.cli.report import write_reports
from bench.cli.workspace import Workspace
from tests.fakes.paths import REFERENCE, ROOT

PARTIAL = ("mutual-information-figure-6",)
SHOWN = {"eqco-table-9": ["paper", "smoke"], "mutual-information-figure-6": ["paper", "smoke"]}


def write_suites(folder: Path, **changes: Any) -> Path:
    """Write the suites with one figure and two scales each, and changes; return their folder."""
    folder.mkdir(parents=True)
    for name, scales in SHOWN.items():
        data = yaml.safe_load((ROOT / "suites" / f"{name}.yaml").read_text())
        kept = {k: v for k, v in data["scales"].items() if k in scales}
        data |= {"scales": kept, "scale": scales[0], "figures": data["figures"][:1]}
        if name in PARTIAL:
            kept["paper"]["seeds"] = [0, 1, 2, 99]  # the last of which nobody ran
        data |= changes
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    return folder


def workspace_of(suites: Path, results: Path) -> Workspace:
    return Workspace(suites, results, Path("datasets"))


def write_site(suites: Path, to: Path, results: Path = REFERENCE, **options: Any) -> list[str]:
    """Write the site; return the pages, relative to its folder."""
    chosen: dict[str, Any] = {"scale": None, "formats": []} | options
    record = write_reports(workspace_of(suites, results), [], to=to, **chosen)
    return sorted(str(Path(page).relative_to(to)) for page in record["pages"])
