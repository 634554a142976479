"""A suite at a scale for the index: its description, the origin of its results, its verdicts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bench import __version__
from bench.analysis.claims import JudgedScale, by_claim, claim_row
from bench.analysis.evidence import Evidence
from bench.analysis.verdicts import ClaimVerdict, Verdict, kind_of_evidence
from bench.analysis.verdicts import EvidenceKind as Kind
from bench.cells.cell import Cell
from bench.cells.datasets import words_of
from bench.record import Json
from bench.results.reader import Done
from bench.text import counted

PUBLISHED = "published protocol"
REDUCED = "reduced protocol"
MOST_PHRASES = 2  # of data sets
NETWORKS = {"resnet18": "ResNet-18", "resnet20": "ResNet-20", "resnet50": "ResNet-50"}


@dataclass(frozen=True)
class Origin:
    """When, with which software and on which hardware cells were computed."""

    first: float  # seconds since 1970, when the first of them began
    last: float
    versions: tuple[str, ...]  # of bench
    commits: tuple[str, ...]
    hardware: tuple[str, ...]

    @property
    def days(self) -> list[str]:
        """The first and the last day."""
        return list(dict.fromkeys([date_text(self.first), date_text(self.last)]))


def origin_of(done: Done) -> Origin | None:
    """Return the origin of finished cells; None if no file has a date."""
    known = [finished.provenance for _, finished in done]
    began = [float(provenance["began"]) for provenance in known if provenance.get("began")]
    if not began:
        return None
    return Origin(
        first=min(began),
        last=max(began),
        versions=_distinct([provenance.get("code.bench") for provenance in known]),
        commits=_distinct([provenance.get("code.commit") for provenance in known]),
        hardware=_distinct([_hardware(provenance) for provenance in known]),
    )


def _hardware(known: Json) -> str | None:
    """Return the device that a cell was computed on: the GPU, else the processor."""
    device, processor = known.get("device"), known.get("machine.processor")
    return f"{processor} (CPU)" if device == "cpu" and processor else device


def _distinct(values: Sequence[Any]) -> tuple[str, ...]:
    return tuple(sorted({str(value) for value in values if value}))


def origin_of_all(origins: Sequence[Origin]) -> Origin | None:
    """Return the combined origin of all cells."""
    if not origins:
        return None
    return Origin(
        first=min(o.first for o in origins),
        last=max(o.last for o in origins),
        versions=_distinct([v for o in origins for v in o.versions]),
        commits=_distinct([v for o in origins for v in o.commits]),
        hardware=_distinct([v for o in origins for v in o.hardware]),
    )


def date_text(seconds: float) -> str:
    """Return the UTC date of a time: 2026-11-22."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def citation(key: str, title: str, origin: Origin | None) -> str:
    """Return BibTeX for a page: its title, and the version, commit and date of its results.

    Args:
        key: BibTeX key.
        title: title of the page.
        origin: origin of its results; if None, the current version is cited.
    """
    if origin is None:
        known = {"note": f"bench {__version__}, no results yet"}
    else:
        commits = ", ".join(commit[:12] for commit in origin.commits)
        parts = [f"bench {', '.join(origin.versions)}", f"commit {commits}" if commits else ""]
        parts.append(f"computed {' to '.join(origin.days)}")
        known = {"year": origin.days[-1][:4], "note": ", ".join(t for t in parts if t)}
    fields = {"author": "{Authors of contrastive-bench}", "title": f"{{{title}}}"} | known
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@misc{{{key},", *lines, "}"])


@dataclass(frozen=True)
class Summary:
    """Summary of a suite at a scale for the index; small, because processes exchange it."""

    suite: str
    scale: str
    words: str  # the scale's data and network, or that its protocol is the published one
    title: str
    paper: str | None
    kind: Kind  # of evidence
    published: bool  # whether the scale follows the published protocol
    judged: bool  # whether it judges claims: it does more than check that everything runs
    done: int
    cells: int
    values: dict[str, Counter[Verdict]]  # by artifact, of what was measured
    compared: frozenset[tuple[str, int]]  # artifact and row that a comparable value stands beside
    effects: dict[str, Counter[Verdict]]  # by artifact, of printed effects that were measured
    claims: dict[str, ClaimVerdict]
    rows: dict[str, Json]  # by claim that was tested, of the check that decides
    checks: list[Json]  # all that count and have an effect, as `bench claims --json` has them
    origin: Origin | None  # None without a finished cell

    @property
    def paper_rows(self) -> set[tuple[str | None, str, int]]:
        """Published values that were compared, as paper, artifact and row."""
        return {(self.paper, *row) for row in self.compared}

    @property
    def folder(self) -> str:
        """Folder of its pages, relative to the site's folder."""
        return f"{self.suite}/{self.scale}"


def summarise(evidence: Evidence) -> Summary:
    """Return the summary of a suite at a scale for the index."""
    suite, judged = evidence.suite, evidence.judged
    measured = [row for row in evidence.compared if row.comparable and row.measured]
    values: dict[str, Counter[Verdict]] = {}
    for row in measured:
        values.setdefault(row.artifact, Counter())[row.verdict] += 1
    effects: dict[str, Counter[Verdict]] = {}
    for effect in evidence.effects:
        if effect.measured and effect.printed and effect.verdict:
            effects.setdefault(effect.artifact, Counter())[effect.verdict] += 1
    of_scale = JudgedScale(suite, evidence.scale, judged)
    return Summary(
        suite=suite.name,
        scale=evidence.scale,
        words=scale_words(evidence.cells, published=evidence.is_published),
        title=suite.title,
        paper=suite.paper,
        kind=kind_of_evidence(suite.experiment, suite.scales[evidence.scale].protocol),
        published=evidence.is_published,
        judged=suite.scales[evidence.scale].no_verdict is None,
        done=len(evidence.done),
        cells=len(evidence.cells),
        values=values,
        compared=frozenset(
            (row.artifact, row.published.row) for row in measured if row.published.value is not None
        ),
        effects=effects,
        claims={claim.id: verdict for claim, verdict, _ in by_claim(judged)},
        rows={
            claim: record
            for claim in suite.claims
            if (record := claim_row(claim, of_scale)) is not None
        },
        checks=[j.record() for j in judged if j.counts and j.effect],
        origin=origin_of(evidence.done),
    )


def scale_words(cells: Sequence[Cell], *, published: bool) -> str:
    """Return `published protocol`, or the data set, network and epochs common to all cells.

    Example: `digits at 16x16, small network, 20 epochs`.

    Args:
        cells: cells of the scale, without baselines.
        published: whether the scale follows the published protocol.
    """
    if published:
        return PUBLISHED
    described = [(data_words(cell.settings), cell.known.get("epochs")) for cell in cells]
    phrases = list(dict.fromkeys(phrase for phrase, _ in described if phrase is not None))
    if not phrases:
        return REDUCED
    words = " and ".join(phrases) if len(phrases) <= MOST_PHRASES else f"{len(phrases)} data sets"
    lengths = {epochs for phrase, epochs in described if phrase is not None}
    one = lengths.pop() if len(lengths) == 1 else None
    return words if one is None else f"{words}, {counted(one, 'epoch')}"


def data_words(settings: dict[str, Any]) -> str | None:
    """Return data set and network of a cell; for detection the detector's; None for toys."""
    name = settings.get("dataset")
    if name is None:
        return None
    images = settings.get("train_images")
    data = words_of(name)
    words = f"{images:,} images of {data}" if images else data
    size, network = settings.get("image_size"), settings.get("arch")
    words += f" at {size}x{size}" if size else ""
    words = f"{words}, {NETWORKS.get(network, network)}{_kind(network)}" if network else words
    boxed = settings.get("detect_dataset")
    return f"{words_of(boxed)} after pretraining on {words}" if boxed else words


def _kind(network: str) -> str:
    return "" if network in NETWORKS else " network"
