"""Headroom on pages: tables, missing baselines, and sides that did not learn."""

from collections.abc import Sequence

from bench.analysis.evidence import Evidence
from bench.analysis.grounds import LEFT
from bench.analysis.room import LABELS, UNTRAINED, Room, apart
from bench.cells.baseline import BASELINES
from bench.report.tables import Entry, Table, mean_text, setting_entry

TITLE = "Trivial baselines, supervised accuracy and headroom (%; mean ± 95 % interval over seeds)"
MEANING = (
    "The trivial baseline is the larger of raw pixels and the untrained network. The same network, "
    "trained with labels for as many epochs, gives the supervised accuracy. The headroom is the "
    "distance between the two. All are evaluated by the protocol of the cells. A claim about an "
    "accuracy is judged only under two conditions. The headroom exceeds the minimum detectable "
    f"effect of its check by {LEFT:g} points. And the mean of each side exceeds the trivial "
    f"baseline by more than the smallest lead that its seeds can detect. This second condition"
    f" is dropped if the claim itself says that a side does not learn. Accuracies during "
    f"training have no trivial baseline and no supervised accuracy if their kNN settings "
    f"differ from those of the evaluation."
)


def room_table(evidence: Evidence, metrics: Sequence[str]) -> Table | None:
    """Return the headroom of accuracies by data set and network; None if unknown.

    Args:
        evidence: evidence of the cells.
        metrics: measured metrics on the page.
    """
    cells = [cell for cell, _ in evidence.done]
    rooms = [room for name in metrics for room in evidence.rooms.of(name, cells)]
    if not rooms:
        return None
    settings = apart(rooms)
    rows = [
        [
            Entry(room.metric),
            *(setting_entry(dict(room.point)[name]) for name in settings),
            *_numbers(room),
        ]
        for room in rooms
    ]
    once = [list(row) for row in dict.fromkeys(map(tuple, rows))]
    heads = ["metric", *settings, rooms[0].raw_is, UNTRAINED, LABELS, "headroom"]
    return Table("room", TITLE, heads, once)


def _numbers(room: Room) -> list[Entry]:
    means = (room.raw, room.untrained, room.labels)
    entries = [Entry(mean_text(mean, 1), number=mean.mean) for mean in means]
    return [*entries, Entry(f"{room.room:.1f}", number=room.room)]


def missing_baselines(evidence: Evidence) -> str | None:
    """Return the missing baselines and the command for them; None if complete."""
    planned, done = len(evidence.baselines), evidence.baselines_done
    if done == planned:
        return None
    command = f"bench run {evidence.suite.name} --scale {evidence.scale}"
    return (
        f"{planned - done} of the {planned} baseline cells, for trivial baselines and supervised "
        f"accuracies, are not computed yet: `{command} --where baseline={','.join(BASELINES)}`."
    )


def not_learned(evidence: Evidence) -> list[str]:
    """Return each side of a check that is not detectably above baseline, with its numbers."""
    return list(dict.fromkeys(reason for judged in evidence.judged for reason in judged.unlearned))
