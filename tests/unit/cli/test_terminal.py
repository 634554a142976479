"""Nothing that is printed is obeyed: neither by a terminal nor as markup."""

from typing import Any

import pytest

from bench.cli.exchange import print_merge
from bench.cli.options import print_failures
from bench.cli.terminal import print_rows
from bench.cli.verify import print_verified
from bench.report.tables import Entry

HOSTILE = "\x1b[41m[/b]\nx"
SHOWN = "\\x1b[41m[/b]\\nx"


def merged() -> None:
    conflict = {
        "id": "0", "experiment": "spirals", "metrics": {}, "arrays": [HOSTILE], "history": True,
        "origin": {HOSTILE: ["a", HOSTILE]},
    }  # fmt: skip
    left_out = [{"why": HOSTILE}]
    record = {"added": 0, "diverged": 0, "same": 0, "encoders": 0, "busy": []}
    print_merge(record | {"left_out": left_out, "conflicts": [conflict]})


def verified(**changes: Any) -> None:
    known: dict[str, Any] = {
        "experiment": "spirals", "id": "0", "seed": 0, "same": False, "metrics": {},
        "versions": {}, "only_metrics": False, "error": "no such luck",
    }  # fmt: skip
    print_verified([known | changes])


PRINTED: dict[str, Any] = {
    "a table": lambda: print_rows(HOSTILE, [HOSTILE], [[Entry(HOSTILE)]]),
    "a conflict": merged,
    "other versions": lambda: verified(versions={"packages.torch": (HOSTILE, "2")}),
    "a cell that fails now": lambda: verified(error=HOSTILE),
    "a failure": lambda: print_failures(
        [{"id": "0", "reason": "code", "message": HOSTILE, "log": None, "table": None}]
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_others_wrote_is_shown_and_not_obeyed(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    PRINTED[name]()
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert SHOWN in out or SHOWN.replace("\\x1b", "\\u001b") in out
