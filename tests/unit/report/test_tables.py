"""Tables in the paper's layout, numbers with their digits."""

import csv
import io
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bench.analysis.verdicts import Verdict
from bench.report.formats import latex_text, markdown_text, to_csv, to_latex, to_markdown
from bench.report.tables import MARKS, Table, entry, make_tables, number, summary_line
from bench.suites.load import load_suite
from bench.suites.suite import Layout
from tests.fakes.comparisons import compared, printed_value
from tests.fakes.paths import SUITES


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (1.7, 1, "1.7"),
        (1.70, 2, "1.70"),
        (0.0239, 6, "0.0239"),
        (1.97e-6, 8, "1.97e-06"),
        (0.0, 8, "0"),
        (-0.0123, 7, "-0.0123"),
    ],
)
def test_numbers(value: float, decimals: int, text: str) -> None:
    assert number(value, decimals) == text


def test_the_papers_layout() -> None:
    rows = compared(
        "eqco-table-9", "quick", lambda c: {"mi_lower_bound": printed_value(c) + c.seed / 50}, 2
    )
    (table,) = make_tables(rows, {"table-9": Layout(rows=["loss", "K"], columns="mi_true")})
    assert table.title == "eqco/table-9"
    assert table.heads == ["loss", "K", *(f"mi_true = {mi}" for mi in (2, 4, 6, 8, 10))]
    assert [(row[0].text, row[1].text) for row in table.rows] == [
        (loss, k) for loss in ("infonce", "eqco") for k in ("64", "128", "256", "512")
    ]
    first = table.rows[0][2]
    assert (first.text, first.verdict) == ("1.71 ± 0.13 [1.7] =", Verdict.SAME)
    assert table.rows[2][2].text == "[1.9] -"
    markdown = to_markdown(table).splitlines()
    assert markdown[0].startswith("| loss | K | mi_true = 2 |")
    assert markdown[2].startswith("| infonce | 64 | 1.71 ± 0.13 [1.7] = |")


def test_without_a_layout_every_setting_is_a_column() -> None:
    rows = compared("eqco-table-9", "quick", lambda c: {"mi_lower_bound": printed_value(c)}, 2)
    (table,) = make_tables(rows, {"table-9": None})
    assert table.heads == ["mi_true", "loss", "K", "alpha", "mi_lower_bound"]
    assert len(table.rows) == 40


def test_drops_stand_apart_from_the_values_they_are_made_of() -> None:
    """Figure 3 (b) prints accuracies and drops of the same metric."""
    rows = compared("dcl-figure-3b", "paper", lambda c: {"linear_top1": float(c.K == 65536)}, 2)
    values, drops = make_tables(rows, {"figure-3b": None})
    assert values.title == "dcl/figure-3b, linear_top1"
    assert drops.title == "dcl/figure-3b, gain over K 256 of linear_top1"
    assert [len(values.rows), len(drops.rows)] == [2, 2]
    assert {row[-1].text.split(" ")[0] for row in drops.rows} == {"1.00"}


def test_summary_counts_and_distances() -> None:
    rows = compared(
        "eqco-table-9", "quick", lambda c: {"mi_lower_bound": printed_value(c) + 0.05}, 2
    )
    assert summary_line(rows) == (
        "16 same, 24 not measured; |measured - published|: mean 0.05, largest 0.05"
    )


def test_every_verdict_has_its_own_mark() -> None:
    assert set(MARKS) == set(Verdict) - {Verdict.OPPOSITE, Verdict.DIFFERS}  # of effects alone
    assert len(set(MARKS.values())) == len(MARKS)


def test_a_single_run_shows_no_interval() -> None:
    rows = compared("eqco-table-9", "quick", lambda _: {"mi_lower_bound": 2.0}, 1)
    assert entry(rows[0]).text == "2.00 [1.7] 1"


def table_9(baseline: str | None = None) -> Table:
    """Return EqCo's Table 9 as if every second seed were off by 0.02."""
    layout = Layout(rows=["loss", "K"], columns="mi_true", baseline=baseline)
    (comparison,) = load_suite(SUITES / "eqco-table-9.yaml").compare
    rows = compared(
        "eqco-table-9",
        "quick",
        lambda c: {"mi_lower_bound": printed_value(c) + c.seed / 50},
        2,
        compare=[comparison.model_copy(update={"layout": layout})],
    )
    (table,) = make_tables(rows, {"table-9": layout})
    return table


def test_gains_are_over_the_named_row_at_the_same_place() -> None:
    """Printed for a true MI of 10: 4.1 by InfoNCE and 6.1 by EqCo, K = 64."""
    table = table_9("infonce")
    assert table.rows[0][6].text == "4.11 ± 0.13 [4.1] ="
    assert table.rows[4][6].text == "6.11 ± 0.13 (+2.00 ± 0.06) [6.1, +2.0] ="
    assert table.rows[6][6].text == "[6.0, +0.6] -"


def test_two_values_at_one_place_of_a_layout_stand_on_lines_of_their_own() -> None:
    layout = Layout(rows=["K"], columns="mi_true")  # without the loss
    rows = compared("eqco-table-9", "quick", lambda c: {"mi_lower_bound": printed_value(c)}, 2)
    (table,) = make_tables(rows, {"table-9": layout})
    shown = [entry.text for row in table.rows for entry in row[1:] if entry.text]
    assert len(shown) == 40
    of_64 = [row[1].text for row in table.rows if row[0].text == "64" and row[1].text]
    assert of_64 == ["1.70 ± 0.00 [1.7] =", "1.90 ± 0.00 [1.9] ="]  # of InfoNCE, of EqCo


def test_an_entry_says_where_its_numbers_come_from() -> None:
    place = table_9().rows[0][2]
    assert len(place.cells) == 2
    assert place.row is not None
    name, _, row = place.row.partition(", row ")
    assert name == "eqco/table-9"
    from bench.papers.reader import load_paper

    printed = load_paper("eqco").artifact("table-9").values[int(row) - 1]
    assert (printed.value, printed.row_settings["mi_true"]) == (1.7, 2)
    assert (printed.row_settings["loss"], printed.row_settings["K"]) == ("infonce", 64)


def test_latex_has_a_column_a_head_and_nothing_that_latex_reads() -> None:
    text = to_latex(table_9())
    assert "\\begin{tabular}{lrrrrrr}" in text
    lines = text.splitlines()
    body = lines[lines.index("\\midrule") + 1 : lines.index("\\bottomrule")]
    assert body.count("\\addlinespace") == 1  # between the losses
    assert {line.count("&") for line in body if "&" in line} == {6}
    assert lines[lines.index("\\toprule") + 1].startswith("loss & $K$ & true MI = 2 & ")
    assert "\\caption{EqCo, Table 9}" in lines
    assert body[0].startswith("InfoNCE & 64 & 1.71 $\\pm$ 0.13 {[}1.7{]} = & ")
    assert latex_text("a_b & 5% <x> $y$ {z} \\w #1 ^~") == (
        "a\\_b \\& 5\\% \\textless{}x\\textgreater{} \\$y\\$ \\{z\\} "
        "\\textbackslash{}w \\#1 \\textasciicircum{}\\textasciitilde{}"
    )


def test_csv_keeps_published_values_and_verdicts_apart() -> None:
    first = next(iter(csv.DictReader(io.StringIO(to_csv(table_9())))))
    assert first["mi_true = 2"] == "1.71 ± 0.13"
    assert first["mi_true = 2: published"] == "1.7"
    assert first["mi_true = 2: verdict"] == "same"


def test_markdown_has_numbers_to_the_right() -> None:
    assert to_markdown(table_9()).splitlines()[1] == "| --- |" + " ---: |" * 6


@given(st.text("`[]()\\|<>&!:ax *_\n", max_size=24))
@example("[x](javascript:alert(1))")
@example("`` ` `` [x](a) ` ")
@example("`a\\|[x](b)`")
@example("\\[x](b)")
@example("<script>x</script>")
def test_no_text_is_a_tag_or_a_link_in_markdown(text: str) -> None:
    """In a line of its own, in a cell of a table, and beside the text of a picture."""
    shown = markdown_text(text)
    page = f"x {shown}\n\n| a | b |\n| --- | --- |\n| {shown} | y |\n\n![{shown}](z.svg)\n"
    html = MarkdownIt("commonmark").enable("table").render(page)
    assert not re.search(r'<(a (?!href="z\.svg")|script)', html)
    assert not re.search(r"<img (?!src=\"z\.svg\")", html)
    assert html.count("<td>") == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("published [1.7] in `a[0]` and (b)", "published [1.7] in `a[0]` and (b)"),
        ("`a < b` < c", "`a < b` &lt; c"),
        ("a | b in `a|b`", r"a \| b in `a\|b`"),
        ("one `", r"one \`"),
        ("two\nlines", "two lines"),
        (r"[x\](a)", r"[x\\\](a)"),
        (r"`a\|b`", r"\`a\\\|b\`"),
    ],
)
def test_prose_stays_readable_in_markdown(text: str, shown: str) -> None:
    assert markdown_text(text) == shown
