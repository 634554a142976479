"""Frozen records, the base of all configuration, and their plain form."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict

Json = dict[str, Any]
"""A JSON object: the output of a verb with `--json`, or the content of a record's file."""


class Record(BaseModel):
    """A frozen, fully typed piece of configuration; unknown keys and NaN are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def __copy__(self) -> Self:
        """Return a copy without what was computed of this one: `model_copy` may alter it."""
        copied = super().__copy__()
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]  # the value of a cached property
        return copied
