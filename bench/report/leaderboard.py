"""A leaderboard over all suites: method by metric, at one protocol, with the number of seeds."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.analysis.doubts import doubts_of
from bench.analysis.room import Rooms
from bench.analysis.statistics import Interval, t_interval
from bench.cells.cell import identity
from bench.papers.names import setting_name, value_name
from bench.report.paper_table import metric_head
from bench.report.scale_words import data_words
from bench.report.tables import Entry, Table, slug
from bench.results.reader import Done
from bench.suites.presets import paper_presets
from bench.text import value_text

PROTOCOL = (
    "dataset", "pretrain_on", "train_images", "held_out", "image_size", "arch", "width", "stem",
    "epochs", "batch_size", "knn_k", "linear", "few_shot", "test_warp",
)  # fmt: skip
"""The settings that cells of one table share; the others are a method's."""
METRICS = (
    "linear_top1", "knn_top1", "few_shot_linear_top1", "warped_linear_top1", "warped_knn_top1",
    "warped_few_shot_linear_top1", "mi_lower_bound", "alignment", "uniformity",
)  # fmt: skip
LEAST_METHODS = 2  # of a table
TENTH = 0.1
LONGEST = 200  # characters of a file's name
Protocol = tuple[Any, ...]


@dataclass(frozen=True)
class Run:
    """A finished cell of a method, at its protocol."""

    id: str
    protocol: Protocol
    words: str  # the protocol's
    method: str  # as pages write it, with the loss where it is not the method's own
    settings: str  # an id of all settings but the seed
    metrics: dict[str, float]
    rooms: tuple[tuple[str, str], ...] = ()  # metric and its floor and ceiling in words


def runs_of(done: Done, rooms: Rooms) -> list[Run]:
    """Return the finished cells that have a method and were trained on images.

    Args:
        done: finished cells of a scale.
        rooms: of that scale.
    """
    runs = []
    for cell, finished in done:
        known = cell.settings
        if "method" in known and known.get("dataset"):
            doubts = doubts_of(cell, finished)
            metrics = {
                n: v for n, v in finished.metrics.items() if n in METRICS and n not in doubts
            }
            alike = {name: value for name, value in known.items() if name != "seed"}
            protocol = tuple(known.get(name) for name in PROTOCOL)
            words = f"{data_words(known)}, {known['epochs']} epochs, batch {known['batch_size']}"
            found = [(n, room.in_words) for n in metrics if (room := rooms.of_cell(n, cell))]
            settings = identity(alike)
            run = Run(cell.id, protocol, words, _method(known), settings, metrics, tuple(found))
            runs.append(run)
    return runs


def _method(known: dict[str, Any]) -> str:
    """Return a cell's method, and its loss where that is not the method's own."""
    method, loss = known["method"], known.get("loss")
    preset = paper_presets().get(method)
    preset_loss = preset.settings.get("loss") if preset else loss
    return value_name(method) + (f" + {value_name(loss)}" if loss and loss != preset_loss else "")


def leaderboard(runs: Iterable[Run]) -> list[Table]:
    """Return a table for each protocol with several methods.

    Tables with several seeds come first, searches on held-out training images last; among equals
    the table of the most methods comes first.

    Where several settings of a method were run, the one with the best first metric stands.
    """
    protocols: dict[Protocol, dict[str, Run]] = {}
    for run in runs:
        protocols.setdefault(run.protocol, {})[run.id] = run
    titles = _titles(
        {protocol: next(iter(grouped.values())) for protocol, grouped in protocols.items()}
    )
    tables = [
        (_rank(protocol, table), table)
        for protocol, grouped in protocols.items()
        if (table := _table(titles[protocol], list(grouped.values())))
    ]
    return [table for _, table in sorted(tables, key=lambda pair: pair[0])]


def _rank(protocol: Protocol, table: Table) -> tuple[Any, ...]:
    """Return where a table stands: searches last, then those of one seed, then by methods."""
    is_search = protocol[PROTOCOL.index("held_out")] is not None
    one_seed = all(row[1].number == 1 for row in table.rows)
    return (is_search, one_seed, -len(table.rows), table.title)


def _titles(first: Mapping[Protocol, Run]) -> dict[Protocol, str]:
    """Return each protocol in words, with what tells it from others of the same words."""
    titles = {}
    for protocol, run in first.items():
        alike = [other for other, other_run in first.items() if other_run.words == run.words]
        parts = [
            f"{setting_name(name)} {'none' if value is None else value_text(value)}"
            for name, value, *others in zip(PROTOCOL, protocol, *alike, strict=True)
            if name != "held_out" and len(set(map(repr, others))) > 1
        ]
        held_out = protocol[PROTOCOL.index("held_out")]
        share = "a tenth" if held_out == TENTH else f"{100 * (held_out or 0):g} %"
        search = [f"{share} of the training images held out (search)"] if held_out else []
        titles[protocol] = ", ".join([run.words, *parts, *search])
    return titles


def _table(title: str, runs: Sequence[Run]) -> Table | None:
    methods: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        methods.setdefault(run.method, {}).setdefault(run.settings, []).append(run)
    metrics = [name for name in METRICS if any(name in run.metrics for run in runs)]
    if len(methods) < LEAST_METHODS or not metrics:
        return None
    chosen = {
        method: max(groups.values(), key=lambda group: _mean(group, metrics[0]))
        for method, groups in methods.items()
    }
    order = sorted(chosen, key=lambda method: (-_mean(chosen[method], metrics[0]), method))
    rows = [
        [
            Entry(method),
            Entry(str(len(chosen[method])), number=len(chosen[method])),
            Entry(str(len(methods[method])), number=len(methods[method])),
            *(_entry(chosen[method], metric) for metric in metrics),
        ]
        for method in order
    ]
    heads = ["method", "seeds", "settings run", *map(metric_head, metrics)]
    notes = _rooms({method: chosen[method] for method in order})
    return Table(slug(title, length=LONGEST), title, heads, rows, notes)


def _rooms(chosen: Mapping[str, Sequence[Run]]) -> list[str]:
    """Return floor and ceiling of each metric, with the methods they are of where they differ."""
    owners: dict[tuple[str, str], list[str]] = {}
    for method, runs in chosen.items():
        for room in dict.fromkeys(room for run in runs for room in run.rooms):
            owners.setdefault(room, []).append(method)
    rooms_of = Counter(metric for metric, _ in owners)
    notes = []
    for (metric, words), methods in sorted(owners.items()):
        whose = f" of {', '.join(methods)}" if rooms_of[metric] > 1 else ""
        notes.append(f"{metric_head(metric)}{whose}: {words}.")
    return notes


def _interval(runs: Sequence[Run], metric: str) -> Interval | None:
    values = [run.metrics[metric] for run in runs if metric in run.metrics]
    return t_interval(values) if values else None


def _mean(runs: Sequence[Run], metric: str) -> float:
    interval = _interval(runs, metric)
    return float("-inf") if interval is None else interval.mean


def _entry(runs: Sequence[Run], metric: str) -> Entry:
    interval = _interval(runs, metric)
    if interval is None:
        return Entry("")
    text = f"{interval.mean:.2f}"
    if interval.low is not None and interval.high is not None:
        text += f" ± {(interval.high - interval.low) / 2:.2f}"
    return Entry(text, number=interval.mean, cells=tuple(sorted(run.id for run in runs)))
