"""A file of another project's numbers."""

from pathlib import Path
from typing import Any

import yaml

GOOD: dict[str, Any] = {
    "source": {
        "id": "mine", "what": "w", "url": "https://github.com/a/b", "commit": "c0ffee",
        "path": "README.md", "retrieved_from": "commit of 2024", "licence": "MIT",
    },
    "protocols": {
        "p": {"settings": {"tau": 0.1}, "selection": "last epoch", "runs": 1, "where": ["a:1"]}
    },
    "rows": [
        {"method": "simclr", "loss": "dcl", "protocol": "p", "metric": "linear_top1", "value": 61.5,
         "at": 7, "tau": 0.2},
    ],
}  # fmt: skip


def written(tmp_path: Path, **changes: Any) -> Path:
    """Write a source whose only row has these values."""
    path = tmp_path / "mine.yaml"
    row = {k: v for k, v in (GOOD["rows"][0] | changes).items() if v is not None}
    path.write_text(yaml.safe_dump(GOOD | {"rows": [row]}))
    return path
