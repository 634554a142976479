"""Formulas as MathML."""

import xml.etree.ElementTree as ET

import pytest

from bench.papers.reader import load_paper
from bench.report.mathml import to_mathml
from bench.report.paper_table import FORMULAS


def shape(text: str) -> str:
    """Return a formula's elements with their texts, the outer row left out."""

    def told(element: ET.Element) -> str:
        inside = "".join(map(told, element))
        return f"{element.tag}[{element.text or ''}{inside}]"

    (row,) = ET.fromstring(str(to_mathml(text)))
    return "".join(map(told, row))


def test_vectors_scripts_and_sets() -> None:
    assert shape("u1o") == "msubsup[mi[u]mn[1]mi[o]]"
    assert shape("vm") == "msup[mi[v]mi[m]]"
    assert shape("-W_h^T u2m") == "mo[−]msubsup[mi[W]mi[h]mi[T]]msubsup[mi[u]mn[2]mi[m]]"  # noqa: RUF001
    assert shape("V_inf") == "msub[mi[V]mi[∞]]"
    assert shape("V_batch \\ vo") == "msub[mi[V]mtext[batch]]mo[∖]msup[mi[v]mi[o]]"  # noqa: RUF001
    assert shape("x_tilde") == "mover[mi[x]mo[~]]"
    assert shape("sum_{vo in V_inf} vo").startswith("munder[mo[∑]mrow[msup[mi[v]mi[o]]mo[∈]")


@pytest.mark.parametrize("text", ["a)", "(a", "a_", "sum", "a < b", ""])
def test_what_is_no_formula_is_none(text: str) -> None:
    assert to_mathml(text) is None or text == ""


def test_every_formula_of_the_tables_is_one() -> None:
    found = [
        value.row_settings[key]
        for value in load_paper("unigrad").values
        for key in FORMULAS
        if isinstance(value.row_settings.get(key), str)
    ]
    assert len(found) > 25
    assert [text for text in found if to_mathml(text) is None] == []
