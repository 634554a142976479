"""A suite as its file writes it: scales that are like a shared one, comparisons in blocks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from bench.suites.comparison_blocks import ComparisonBlock, comparisons
from bench.suites.shared_scales import SharedScaleEntry, scale_named
from bench.suites.suite import Axes, Coupled, Name, Scale, SharedScale, Suite, SuiteBase


class ScaleEntry(SharedScaleEntry):
    """A scale of a suite: whole, or the shared scale that `like` names and what it changes.

    The shared scale gives `what`, `protocol`, `fixed` and `seeds`; the scale's own keys win.
    """

    grid: Axes = {}  # axes that replace the suite's
    zip: list[Coupled] = []  # groups of axes that replace the suite's

    def filled(self, base: SharedScale | None) -> Scale:
        """Return the scale with what it takes from the shared one."""
        whole = self.over(base).model_dump(exclude={"fixed"})
        changes = {"like": self.like, "fixed": self.fixed, "grid": self.grid, "zip": self.zip}
        return Scale.model_validate(whole | changes | {"shared": base.fixed if base else {}})


class SuiteFile(SuiteBase):
    """What a suite's file may say."""

    scales: Annotated[dict[Name, ScaleEntry], Field(min_length=1)]  # by name
    compare: list[ComparisonBlock] = []  # printed rows beside the cells that they belong to

    @model_validator(mode="after")
    def _default_scale_exists(self) -> Self:
        if self.scale not in self.scales:
            raise ValueError(
                f"scale: '{self.scale}' is none of the scales {', '.join(self.scales)}"
            )
        return self

    def suite(self, shared: Mapping[str, SharedScale], path: Path) -> Suite:
        """Return the suite that the file means.

        Args:
            shared: the shared scales by name.
            path: the file, for error lines.

        Raises:
            SuiteError: `like` names no shared scale.
        """
        scales = {}
        for name, entry in self.scales.items():
            key_path = f"{path}: scales.{name}.like"
            base = scale_named(entry.like, shared, key_path) if entry.like is not None else None
            scales[name] = entry.filled(base)
        keys = {name: getattr(self, name) for name in SuiteBase.model_fields}
        return Suite(**keys, scales=scales, compare=comparisons(self.compare))

    @property
    def names_shared_scales(self) -> bool:
        """Whether any scale is like a shared one."""
        return any(entry.like is not None for entry in self.scales.values())
