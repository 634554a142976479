"""The leaderboard: one protocol per table, the best settings of a method, seeds counted."""

from dataclasses import replace

from bench.report.leaderboard import Run, leaderboard

DIGITS = (
    "digits",
    "train",
    None,
    None,
    16,
    "small",
    16,
    "half",
    20,
    64,
    20,
    "logistic",
    10,
    "none",
)


def run(method: str, settings: str, seed: int, value: float, epochs: int = 20) -> Run:
    protocol = (*DIGITS[:8], epochs, *DIGITS[9:])
    words = f"digits, {epochs} epochs"
    return Run(
        f"{method}{settings}{seed}{epochs}", protocol, words, method, settings, {"knn_top1": value}
    )


def test_the_best_settings_of_each_method_stand_with_their_seeds() -> None:
    runs = [
        run("SimCLR", "tau 0.1", 0, 60.0), run("SimCLR", "tau 0.1", 1, 61.0),
        run("SimCLR", "tau 0.5", 0, 50.0), run("DCL", "tau 0.1", 0, 70.0),
        run("DCL", "tau 0.1", 0, 70.0),
        run("BYOL", "tau 0.1", 0, 90.0, epochs=40),
    ]  # fmt: skip
    (table,) = leaderboard(runs)
    assert table.title == "digits, 20 epochs"
    assert table.heads == ["method", "seeds", "settings run", "kNN top-1 (%)"]
    texts = [[entry.text for entry in row] for row in table.rows]
    assert texts == [["DCL", "1", "1", "70.00"], ["SimCLR", "2", "2", "60.50 ± 6.35"]]
    assert table.rows[1][3].cells == ("SimCLRtau 0.1020", "SimCLRtau 0.1120")


def test_floor_and_ceiling_stand_below_their_table_once() -> None:
    """Those of the settings that are shown; those of settings that lost are not."""
    runs = [
        replace(run(method, settings, 0, value), rooms=(("knn_top1", words),))
        for method, settings, value, words in (
            ("SimCLR", "tau 0.1", 60.0, "raw pixels 40.0"),
            ("SimCLR", "tau 0.5", 50.0, "raw pixels 41.0"),
            ("DCL", "tau 0.1", 70.0, "raw pixels 40.0"),
        )
    ]
    (table,) = leaderboard(runs)
    assert table.notes == ["kNN top-1 (%): raw pixels 40.0."]
    of_dcl = replace(runs[2], rooms=(("knn_top1", "raw pixels 39.0"),))
    (table,) = leaderboard([*runs[:2], of_dcl])
    assert table.notes == [
        "kNN top-1 (%) of DCL: raw pixels 39.0.",
        "kNN top-1 (%) of SimCLR: raw pixels 40.0.",
    ]


def test_protocols_of_the_same_words_are_told_apart() -> None:
    other = [
        Run(f"{m}x", (*DIGITS[:10], 5, *DIGITS[11:]), "digits, 20 epochs", m, "", {"knn_top1": 1.0})
        for m in ("SimCLR", "DCL")
    ]
    runs = [run("SimCLR", "", 0, 60.0), run("DCL", "", 0, 61.0), *other]
    tables = leaderboard(runs)
    assert [t.title for t in tables] == [
        "digits, 20 epochs, knn k 20",
        "digits, 20 epochs, knn k 5",
    ]
    assert len({t.name for t in tables}) == 2


def test_several_seeds_come_first_and_searches_last_in_words() -> None:
    search = [
        Run(f"{m}s", (*DIGITS[:3], 0.1, *DIGITS[4:]), "digits, 20 epochs", m, "", {"knn_top1": 9.0})
        for m in ("SimCLR", "DCL", "BYOL", "MoCo")
    ]
    one_seed = [run(m, "", 0, 9.0, epochs=5) for m in ("SimCLR", "DCL", "BYOL")]
    several = [run(m, "", seed, 9.0 + seed) for m in ("SimCLR", "DCL") for seed in (0, 1)]
    assert [table.title for table in leaderboard([*search, *one_seed, *several])] == [
        "digits, 20 epochs",
        "digits, 5 epochs",
        "digits, 20 epochs, a tenth of the training images held out (search)",
    ]
