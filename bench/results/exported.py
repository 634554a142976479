"""The cells of an experiment in a folder of exported tables, whichever suites they belong to."""

from functools import cached_property
from pathlib import Path
from typing import Any

from bench.errors import StoreError
from bench.results.tables import Arrays, Tables


def holds_tables(root: Path) -> bool:
    """Return whether a folder of results has exported tables in it."""
    return any(root.glob("*.csv*"))


class Exported:
    """The cells that the tables of a folder hold of an experiment; read when they are asked for."""

    def __init__(self, root: Path, experiment: str) -> None:
        """Name the tables; nothing is read yet."""
        self.root, self.experiment = root, experiment

    @cached_property
    def tables(self) -> dict[str, list[Tables]]:
        """The tables that hold each cell, by its id.

        Raises:
            StoreError: two of them hold other metrics of one cell.
        """
        by_experiment: dict[str, list[Tables]] = {}
        for stem in self._stems():
            tables = Tables(self.root, stem)
            for name in tables.rows:
                by_experiment.setdefault(name, []).append(tables)
        for name, several in by_experiment.items():
            for other in several[1:]:
                if other.metrics(name) != several[0].metrics(name):
                    raise StoreError(
                        f"{several[0].cells_file} and {other.cells_file}: other metrics of cell "
                        f"{name}; export both suites again"
                    )
        return by_experiment

    def _stems(self) -> list[str]:
        """Return what the names of the files of each set of tables begin with."""
        paths = (*self.root.glob(f"{self.experiment}.csv*"), *self._of_suites())
        stems = {path.name.removesuffix(".gz").removesuffix(".csv") for path in paths}
        return sorted(stem for stem in stems if not stem.endswith(".history"))

    def _of_suites(self) -> list[Path]:
        globs = (f"{self.experiment}.*.csv", f"{self.experiment}.*.csv.gz")
        return [path for pattern in globs for path in self.root.glob(pattern)]

    def metrics(self, name: str) -> dict[str, float]:
        """Return the metrics of the cell with an id."""
        return self.tables[name][0].metrics(name)

    def provenance(self, name: str) -> dict[str, Any]:
        """Return the flat provenance of the cell with an id."""
        return self.tables[name][0].provenance(name)

    def fields(self, name: str) -> dict[str, Any]:
        """Return the fields of the cell with an id, empty if it is not there."""
        return self.tables[name][0].fields(name) if name in self.tables else {}

    def history(self, name: str) -> list[dict[str, float]]:
        """Return the records of a cell, with the metrics that any of the tables has kept of it."""
        first, *others = (tables.history(name) for tables in self.tables[name])
        for records in others:
            by_step = {record["step"]: record for record in records}
            first = [record | by_step.get(record["step"], {}) for record in first] or records
        return first

    def arrays_of(self, name: str) -> Arrays:
        """Return the arrays of the cell with an id."""
        return {k: v for tables in self.tables[name] for k, v in tables.arrays_of(name).items()}

    def contents(self, name: str) -> list[bytes]:
        """Return all that the tables hold of the cell with an id, as bytes."""
        return [content for tables in self.tables[name] for content in tables.contents(name)]
