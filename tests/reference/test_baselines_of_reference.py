"""Cells of the reference results are judged with the baselines of the reference results."""

import gzip
from pathlib import Path

from bench.cells.baseline import baselines_among, without_baselines
from bench.results.reader import Results
from bench.results.tables import Exported
from bench.suites.expand import expand
from bench.suites.load import load_suite
from tests.fakes.paths import REFERENCE, SUITES


def test_a_few_baselines_of_another_suite_do_not_hide_those_of_the_reference(
    tmp_path: Path,
) -> None:
    path = SUITES / "dual-temperature-remarks.yaml"
    cells = expand(load_suite(path), "cpu", path)
    wanted = baselines_among(cells)
    table = Exported(REFERENCE, "baseline").tables[wanted[0].id][0].cells_file
    with gzip.open(table, "rt") as file:
        head, *rows = file.read().splitlines(keepends=True)
    (tmp_path / "baseline.csv").write_text(
        head + "".join(row for row in rows if row.startswith(wanted[0].id))
    )
    mixed = Results(tmp_path, REFERENCE)
    assert [cell for cell in wanted if mixed.has(cell)] == wanted[:1]
    done = mixed.finished(without_baselines(cells))
    assert len(mixed.finished_baselines(cells, done)) == len(wanted)
    assert len(mixed.finished(wanted)) == 1
