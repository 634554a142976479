"""How large a figure stands on a page: its type is as large as that of the text around it."""

import re
from collections.abc import Callable
from pathlib import Path

from markupsafe import Markup

HEAD = 1000  # characters of a file in which its size stands
SIZE = re.compile(
    r'<svg[^>]*? height="([\d.]+)pt"[^>]*? width="([\d.]+)pt"|'
    r'<svg[^>]*? width="([\d.]+)pt"[^>]*? height="([\d.]+)pt"'
)
PIXELS = 1.25 * 96 / 72  # of a page for a point of a figure


def size_attributes(folder: Path) -> Callable[[str], Markup]:
    """Return what gives the `width` and `height` of a figure by its address from a folder.

    Nothing for a figure that is not there.
    """

    def attributes(address: str) -> Markup:
        try:
            with (folder / address).open(encoding="utf-8") as file:
                match = SIZE.search(file.read(HEAD))
        except OSError:
            match = None
        if match is None:
            return Markup()
        height, width = (match[1], match[2]) if match[1] else (match[4], match[3])
        pixels = (round(float(side) * PIXELS) for side in (width, height))
        return Markup(' width="{}" height="{}"').format(*pixels)

    return attributes
