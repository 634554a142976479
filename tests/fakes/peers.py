"""Losses of other libraries."""

from typing import Any


def lightly_loss(name: str, **settings: Any) -> Any:
    """Return one of lightly's losses; the import takes seconds, which other tests need not pay."""
    from lightly import loss

    return getattr(loss, name)(**settings)
