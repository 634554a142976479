"""`bench methods`: every method as settings on its axes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from bench.cli.options import AsJson, answer, check_folder
from bench.cli.terminal import print_line, print_rows
from bench.errors import BenchError, choices
from bench.record import Json
from bench.report.methods import NOT_CHECKED, methods_page, presets_page
from bench.report.page import Page
from bench.suites.facts import stated_text
from bench.suites.presets import STATING, Preset, elsewhere, load_presets, stated_of
from bench.suites.reference import settings_reference
from bench.text import value_text


def methods(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="A method to describe in full, with sources.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option(help="Write methods.md and presets.md into this folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the methods by their settings, or compare one with its paper and released code."""
    if to is not None and name is not None:
        raise BenchError(
            "--to writes all methods on one page, so it cannot be combined with the "
            "name of a method"
        )
    if to is not None:
        check_folder(to, "methods")
    records = describe_methods(context.obj.suites, name)
    if to is None:
        answer(records, print_methods, as_json)
    else:
        pages = [str(page) for page in write_pages(context.obj.suites, to)]
        answer({"pages": pages}, lambda _: print(*pages, sep="\n"), as_json)


def describe_methods(suites: Path, name: str | None) -> list[Json]:
    """Return every preset, or one, with its settings, their sources and the sources' values.

    Raises:
        BenchError: the preset does not exist.
    """
    known = load_presets(suites)
    if name is not None and name not in known:
        raise BenchError(
            f"there is no method '{name}'. {choices(name, list(known), 'bench methods')}"
        )
    return [
        {
            "name": label,
            "what": preset.what,
            "family": preset.family,
            "like": preset.like,
            "coordinates": _coordinates(label, preset),
        }
        for label, preset in known.items()
        if name in (None, label)
    ]


def _coordinates(label: str, preset: Preset) -> dict[str, Json]:
    stated = stated_of(label, preset)  # recorded facts too
    return {
        name: {
            "value": c.value,
            "stated": dict(stated.get(name, c.stated)),
            "source": c.source,
            "why": c.why,
        }
        for name, c in preset.coordinates.items()
    }


def write_pages(suites: Path, folder: Path) -> list[Path]:
    """Write a page of all methods' settings and a page that compares them with the papers."""
    records = describe_methods(suites, None)
    texts = {
        "methods.md": methods_page(records, elsewhere(), settings_reference()),
        "presets.md": presets_page(load_presets(suites)),
    }
    crumbs = [("Papers", "index.html")]
    pages = []
    for name, text in texts.items():
        title = text.partition("\n")[0].removeprefix("# ")
        page = Page("text.md.j2", title, "", [*crumbs, (title, None)], {"text": text})
        pages += page.write(folder / name)
    return pages


def print_methods(records: Sequence[Json]) -> None:
    """Print the settings of all methods side by side, or those of one with their sources."""
    if len(records) == 1:
        _print_method(records[0])
        return
    known = {r["name"]: r["coordinates"] for r in records}
    rows = [[r["name"], r["like"], r["what"], _changes(r, known)] for r in records]
    print_rows("", ["method", "like", "what", "differences"], rows)
    print("`bench methods NAME` lists every setting of a method with its source.")


def _print_method(record: Json) -> None:
    """Print a method setting by setting; a value that neither paper nor code is known to state
    leaves their columns empty."""
    rows = []
    for name, c in record["coordinates"].items():
        stated = [stated_text(c["stated"][who]) if who in c["stated"] else "" for who in STATING]
        source = f"{c['source']}. Why: {c['why']}" if c["why"] else c["source"]
        rows.append([name, value_text(c["value"], null=""), *stated, source])
    like = f" (like {record['like']})" if record["like"] else ""
    heads = ["setting", record["name"], "paper", "released code", "source"]
    print_rows(record["what"] + like, heads, rows)
    if any("arXiv:" in c["source"] for c in record["coordinates"].values()):
        print_line(" ".join(NOT_CHECKED.split()))


def _changes(record: Json, known: dict[str, Any]) -> str:
    """Return the coordinates in which a method differs from the one that it is like."""
    base = known.get(record["like"], {})
    if not base:
        return f"see `bench methods {record['name']}`"
    return ", ".join(
        f"{name} {value_text(c['value'], null='-')}"
        for name, c in record["coordinates"].items()
        if c["value"] != base.get(name, {}).get("value")
    )
