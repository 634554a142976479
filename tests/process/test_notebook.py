"""The notebook of the tutorial runs from its first cell to its last."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.paths import ROOT

NOTEBOOK = ROOT / "docs" / "tutorials" / "first-look.ipynb"
RUN = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def test_it_is_kept_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert 8 <= len(code) <= 12
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow
def test_every_cell_runs(tmp_path: Path) -> None:
    """From `load` on the reference results to a figure, a training and a probe on its encoder."""
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    to = tmp_path / "run.ipynb"
    done = subprocess.run(
        [sys.executable, "-c", RUN, NOTEBOOK, to], cwd=NOTEBOOK.parent, env=environment,
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    cells = json.loads(to.read_text())["cells"]
    outputs = [out for cell in cells for out in cell.get("outputs", [])]
    assert any("image/png" in out.get("data", {}) for out in outputs)
    (probe,) = [out["text"] for out in outputs if "of the test digits" in str(out.get("text"))]
    assert float("".join(probe).split(", ")[1].split()[0]) > 30  # by chance 10
