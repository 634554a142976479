"""Pages of the manual that are written from the program; `make docs` builds them."""

import sys
from collections.abc import Iterator
from importlib import import_module

import pytest

from tests.fakes.paths import ROOT

WRITERS = ("commands", "gallery", "settings", "suite_files")


@pytest.fixture
def extensions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Modules of docs/_ext can be imported; those of Sphinx cannot be, and are not needed."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    yield
    for name in {"comments", *WRITERS} - before:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.usefixtures("extensions")
def test_a_page_is_written(writer: str) -> None:
    page: str = getattr(import_module(writer), f"{writer}_page")()
    assert page.startswith("# ")
    assert page.count("\n## ") > 1
