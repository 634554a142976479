"""Words of a figure as they are: a suite's text is not read as mathematics."""

from matplotlib.figure import Figure as Canvas
from matplotlib.text import Text
from matplotlib.ticker import LogFormatter

from bench.text import plain_text


def make_plain(canvas: Canvas) -> None:
    """Let a dollar be a dollar in every text, and write out what no page shows.

    Powers of ten on a logarithmic axis stay powers.
    """
    powers = {
        id(label)
        for ax in canvas.axes
        for axis in (ax.xaxis, ax.yaxis)
        if isinstance(axis.get_major_formatter(), LogFormatter)
        for label in axis.get_ticklabels(which="both")
    }
    for text in canvas.findobj(Text):
        if isinstance(text, Text) and id(text) not in powers:
            text.set_parse_math(False)
            text.set_text("\n".join(map(plain_text, text.get_text().split("\n"))))
