"""How Sphinx builds the manual: `make docs`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "_ext")]

from bench import __version__  # noqa: E402

project = "contrastive-bench"
version = release = __version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "generated_pages",
    "repository_links",
    "results_site",
]
exclude_patterns = ["_ext"]
html_theme = "furo"
html_title = f"contrastive-bench {release}"
html_show_copyright = False
highlight_language = "text"
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "notebooks")
nb_execution_timeout = 900  # seconds per cell, on a busy machine
nb_execution_raise_on_error = True
autodoc_typehints = "none"  # the signature has them
autodoc_member_order = "bysource"
