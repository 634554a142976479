"""Origin of results (time, software, hardware), and their citation."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bench import __version__
from bench.record import Json
from bench.results.reader import Done


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
