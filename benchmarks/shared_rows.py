"""Rows of the reference tables that other tables hold too.

A table of exported results holds all cells of its suite, so that it can be passed on alone. The
reference results are passed on as a whole: there, one row for each cell is enough, if the other
tables have the same numbers, histories and arrays. `--write` removes the other rows.

Exit status 1: without `--write`, a row is held twice.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from bench.cells import CELLS
from bench.files.atomic import only_writer
from bench.results.export_tables import write_tables
from bench.results.tables import Exported, Tables
from benchmarks.readme_tables import REFERENCE


def held_twice(exported: Exported) -> Iterator[tuple[Tables, list[str]]]:
    """Yield each set of an experiment's tables with its cells that other sets hold in full.

    A cell is removed from the set with the fewest cells first, and stays in at least one.
    """
    for tables in sorted(exported.sets, key=lambda t: len(t.rows)):
        found = [name for name in tables.rows if _is_held_without(tables, name, exported)]
        if found:
            yield tables, found


def _is_held_without(tables: Tables, name: str, exported: Exported) -> bool:
    """Return whether a cell reads the same without this set, which `exported` then forgets."""
    holding, before = exported.tables[name], _content(exported, name)
    exported.tables[name] = [other for other in holding if other is not tables]
    if exported.tables[name] and _content(exported, name) == before:
        return True
    exported.tables[name] = holding
    return False


def _content(exported: Exported, name: str) -> tuple[Any, ...]:
    """Return the settings, metrics, history and arrays of a cell."""
    arrays = {k: (v.dtype, v.shape, v.tobytes()) for k, v in exported.arrays(name).items()}
    metrics = exported.tables[name][0].metrics(name)
    return exported.fields(name), metrics, exported.history(name), arrays


def remove(tables: Tables, names: list[str]) -> None:
    """Write a set of tables again without these cells."""
    rows = {name: row for name, row in tables.rows.items() if name not in names}
    write_tables(tables, rows, tables.arrays, tables.histories, tables.diverged)


def main() -> int:
    """Print the sets with rows that are held twice, and remove these rows with `--write`."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--write", action="store_true", help="remove the rows")
    chosen = options.parse_args()
    count = 0
    with only_writer(REFERENCE):
        for experiment in CELLS:
            for tables, names in list(held_twice(Exported(REFERENCE, experiment))):
                print(f"{tables.cells_file.name}: {len(names)} of {len(tables.rows)} cells")
                count += len(names)
                if chosen.write:
                    remove(tables, names)
    print(f"{count} rows are held twice")
    return 0 if chosen.write or not count else 1


if __name__ == "__main__":
    sys.exit(main())
