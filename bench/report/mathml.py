"""Formulas of the published facts as MathML.

    formula  = term (operator term)*
    term     = "-" term | atom+ ["*" term]
    atom     = "sum" "_" group | name [script]* | number | "(" formula ")"
    script   = "_" part | "^" part

`u1o` is u with a subscript 1 and a superscript o; `V_inf` has an infinity for its subscript;
`x_tilde` has a tilde above; `\\` is the difference of two sets.
"""

import re
from dataclasses import dataclass

from markupsafe import Markup, escape

TOKEN = re.compile(r"\s*([A-Za-z]+\d*[A-Za-z]*|\d+(?:\.\d+)?|[-+*/(){},_^\\])")
VECTOR = re.compile(r"([uv])(\d?)([om])")
SYMBOLS = {
    "eps": "\N{GREEK SMALL LETTER EPSILON}", "lambda": "\N{GREEK SMALL LETTER LAMDA}",
    "rho": "\N{GREEK SMALL LETTER RHO}", "tau": "\N{GREEK SMALL LETTER TAU}",
    "alpha": "\N{GREEK SMALL LETTER ALPHA}", "inf": "\N{INFINITY}",
}  # fmt: skip
OPERATORS = {
    "in": "\N{ELEMENT OF}", "\\": "\N{SET MINUS}", "*": "\N{MIDDLE DOT}", "-": "\N{MINUS SIGN}",
    "+": "+", "/": "/", ",": ",",
}  # fmt: skip
FUNCTIONS = ("batch", "bank")  # upright subscripts


class NoFormula(ValueError):
    """The text is no formula of this grammar."""


def to_mathml(text: str) -> Markup | None:
    """Return a formula as a `math` element; None where the text is none."""
    try:
        inside = _mathml_of(text)
    except NoFormula:
        return None
    return Markup(f'<math aria-label="{escape(text)}">{inside}</math>')


def _mathml_of(text: str) -> str:
    """Return what is inside the `math` element; raise NoFormula if the text is no formula."""
    tokens = _tokens(text)
    reader = _Reader(tokens)
    inside = reader.row(())
    if reader.at < len(tokens):
        raise NoFormula(text)
    return inside


def _tokens(text: str) -> list[str]:
    tokens, at = [], 0
    text = text.strip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise NoFormula(text)
        tokens.append(match[1])
        at = match.end()
    return tokens


@dataclass
class _Reader:
    """Reads tokens from the left."""

    tokens: list[str]
    at: int = 0

    def row(self, ends: tuple[str, ...]) -> str:
        """Return everything up to one of the ends, as one row."""
        parts: list[str] = []
        while self.at < len(self.tokens) and self.tokens[self.at] not in ends:
            parts.append(self._part())
        return f"<mrow>{''.join(parts)}</mrow>"

    def _part(self) -> str:
        token = self._next()
        if token in OPERATORS:
            return f"<mo>{OPERATORS[token]}</mo>"
        if token == "(":
            return f"<mo>(</mo>{self._closed(')')}<mo>)</mo>"
        if token == "sum":
            return f"<munder><mo>∑</mo>{self._script()}</munder>"
        if token in "{}_^)":
            raise NoFormula(token)
        return self._with_scripts(_atom(token))

    def _with_scripts(self, base: str) -> str:
        below = above = ""
        while self.at < len(self.tokens) and self.tokens[self.at] in "_^":
            mark = self.tokens[self.at]
            if mark == "_" and self.tokens[self.at + 1 : self.at + 2] == ["tilde"]:
                self.at += 2
                base = f'<mover accent="true">{base}<mo>~</mo></mover>'
            elif mark == "_":
                below = self._script()
            else:
                above = self._script()
        if below and above:
            return f"<msubsup>{base}{below}{above}</msubsup>"
        if below:
            return f"<msub>{base}{below}</msub>"
        return f"<msup>{base}{above}</msup>" if above else base

    def _script(self) -> str:
        """Return what stands behind `_` or `^`: one atom, or a group in braces."""
        self.at += 1
        token = self._next()
        return self._closed("}") if token == "{" else _atom(token)

    def _closed(self, end: str) -> str:
        inside = self.row((end,))
        self._next()
        return inside

    def _next(self) -> str:
        if self.at >= len(self.tokens):
            raise NoFormula("it ends too early")
        self.at += 1
        return self.tokens[self.at - 1]


def _atom(token: str) -> str:
    if token[0].isdigit():
        return f"<mn>{token}</mn>"
    if vector := VECTOR.fullmatch(token):
        name, view, branch = vector.groups()
        inner = f"<mi>{name}</mi>", f"<mn>{view}</mn>", f"<mi>{branch}</mi>"
        return (
            f"<msubsup>{''.join(inner)}</msubsup>" if view else f"<msup>{inner[0]}{inner[2]}</msup>"
        )
    if token in FUNCTIONS:
        return f"<mtext>{token}</mtext>"
    return f"<mi>{escape(SYMBOLS.get(token, token))}</mi>"
