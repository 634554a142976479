"""The end of an error line: what was perhaps meant, and what is allowed."""

import pytest

from bench.errors import MOST_LISTED, NEAREST, choices

FEW = ["alpha", "tau"]
MANY = ["tau", *(f"setting_{i}" for i in range(60))]


@pytest.mark.parametrize(
    ("found", "allowed", "told"),
    [
        ("taau", FEW, "Did you mean 'tau'? Allowed here: alpha, tau."),
        (
            "alp",
            ["a", "alp-1-long-name"],
            "Did you mean 'alp-1-long-name'? Allowed here: a, alp-1-long-name.",
        ),
        ("xyz", FEW, "Allowed here: alpha, tau."),
    ],
)
def test_a_short_list_is_whole_and_in_its_order(found: str, allowed: list[str], told: str) -> None:
    assert choices(found, allowed) == told


def test_of_a_long_list_the_nearest_words_are_named() -> None:
    told = choices("taau", MANY)
    assert told.startswith("Did you mean 'tau'? Allowed here: tau, ")
    assert told.endswith(f" and {len(MANY) - NEAREST} more.")
    assert told.count(",") == NEAREST - 1
    assert len(choices("zzz", MANY)) < 160  # without a near match too
    assert choices("zzz", MANY[:MOST_LISTED]).endswith(f"{MANY[MOST_LISTED - 1]}.")


def test_a_command_that_lists_them_stands_in_place_of_a_list() -> None:
    told = choices("taau", MANY, "bench methods")
    assert told == f"Did you mean 'tau'? `bench methods` lists all {len(MANY)}."


def test_another_case_is_the_nearest() -> None:
    assert choices("k", ["kappa", "knn_k", "K"]).startswith("Did you mean 'K'? ")
    assert "Allowed here: K, " in choices("k", [*MANY, "K"])
