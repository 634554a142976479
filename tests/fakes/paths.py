"""Where the project's own files are."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SUITES = ROOT / "suites"
REFERENCE = ROOT / "results" / "reference"
