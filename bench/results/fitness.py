"""Cells that are excluded from means: with other data or code, or with failed seeds."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.cells.cell import Cell
from bench.text import counted

Failed = Sequence[tuple[Cell, str]]
"""Cells whose last attempt failed, each with the reason."""
Origins = Sequence[tuple[Cell, Mapping[str, Any]]]  # finished cells with their flat provenance

DATA = (
    "sample_rate", "detector", "dataset", "detect_dataset",
    "word_recordings", "speaker_recordings", "recordings",
)  # fmt: skip
"""Settings that name data, behind those that say what of it is read."""
FINGERPRINTS = {"dataset": DATA, "trained.dataset": DATA, "evaluated_on": ("evaluated_on",)}
"""Fingerprints of data in provenance, with the settings that name the data."""
PARTS = ("", "trained.")  # of provenance: where the cell was evaluated, where it was trained


def unfit(origins: Origins, failed: Failed) -> dict[str, str]:
    """Return why finished cells are excluded from means or comparisons, by id.

    Commits and machines may differ, because a change of code that affects results raises the
    version of the experiment, which is part of the id.
    """
    return dict(_of_other_data(origins)) | dict(_of_edited_code(origins)) | _left(origins, failed)


def failed_text(reasons: Mapping[str, int], of: int | None = None) -> str:
    """Return the number of failed cells by reason, as text: `diverged 2 of 4`."""
    among = "" if of is None else f" of {of}"
    return ", ".join(f"{reason} {n}{among}" for reason, n in sorted(reasons.items()))


def failed_among(cells: Sequence[Cell], failed: Failed) -> str | None:
    """Return the number of failed cells by reason, as text; None if none failed."""
    ids = {cell.id for cell in cells}
    reasons = Counter(reason for cell, reason in failed if cell.id in ids)
    return f"cells failed: {failed_text(reasons, len(ids))}" if reasons else None


def _of_other_data(origins: Origins) -> Iterator[tuple[str, str]]:
    seen: dict[tuple[Any, ...], dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell, known in origins:
        for where, settings in FINGERPRINTS.items():
            if (fingerprint := known.get(where)) is not None:
                names = tuple(cell.settings.get(name) for name in settings)
                seen[where, cell.experiment, *names][fingerprint].append(cell)
    for key, cells_of in seen.items():
        if len(cells_of) > 1:
            found = next((name for name in reversed(key[2:]) if name), None)
            name = f"the data of {found}" if found else "the data"
            counts = " and ".join(counted(len(cells), "cell") for cells in cells_of.values())
            why = f"{name} differ between {counts} (fingerprints {', '.join(cells_of)})"
            yield from ((cell.id, why) for cells in cells_of.values() for cell in cells)


def _of_edited_code(origins: Origins) -> Iterator[tuple[str, str]]:
    edits = {
        cell.id: tuple(
            (known.get(f"{part}code.commit"), known.get(f"{part}code.edits"))
            for part in PARTS
            if known.get(f"{part}code.dirty")
        )
        for cell, known in origins
    }
    if len(set(edits.values())) > 1:
        why = "these cells were computed by an edited checkout of bench, unlike the other cells"
        yield from ((name, why) for name, edited in edits.items() if edited)


def _left(origins: Origins, failed: Failed) -> dict[str, str]:
    """Return why the finished cells of points do not count of which other seeds failed."""
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for cell, reason in failed:
        reasons[cell.but_seed][reason] += 1
    points = {cell.id: cell.but_seed for cell, _ in origins} if reasons else {}
    done = Counter(points.values())
    return {
        name: f"other seeds failed ({failed_text(reasons[p], reasons[p].total() + done[p])}), so "
        "the remaining cells are a biased selection"
        for name, p in points.items()
        if p in reasons
    }
