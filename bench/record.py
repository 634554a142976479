"""The frozen record that every piece of configuration is made of."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen, fully typed piece of configuration; unknown keys and NaN are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
