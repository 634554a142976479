"""Which settings have a meaning with some values of others alone, as far as tables can say."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from bench.cells.losses import LOSSES, losses_that

Values = tuple[str | None, ...]


class Belongs(NamedTuple):
    """A setting has a meaning with some values of another, and may be needed with some of them."""

    other: str
    needed: Values
    allowed: Values = ()
    or_with: tuple["Belongs", ...] = ()  # other settings, of which one is enough

    @property
    def alternatives(self) -> tuple["Belongs", ...]:
        """The rule of each other setting by itself."""
        return (self._replace(or_with=()), *self.or_with)

    def has_meaning(self, settings: Mapping[str, Any]) -> bool:
        """Return whether the setting has a meaning with the others."""
        return any(
            settings.get(rule.other) in (*rule.needed, *rule.allowed) for rule in self.alternatives
        )

    def holds(self, name: str, settings: Mapping[str, Any]) -> bool:
        """Return whether the setting is there where it is needed, and null without a meaning."""
        if settings[name] is not None:
            return self.has_meaning(settings)
        return not any(settings.get(rule.other) in rule.needed for rule in self.alternatives)

    def message(self, name: str) -> str:
        """Return the rule as a sentence without its stop."""
        needed = " or ".join(f"{r.other} {or_(r.needed)}" for r in self.alternatives)
        allowed = " or ".join(f"{r.other} {or_(r.allowed)}" for r in self.alternatives)
        if not self.allowed:
            return f"{name} is needed with {needed} and with nothing else"
        if not self.needed:
            return f"{name} has a meaning with {allowed} alone"
        return (
            f"{name} is needed with {needed}, allowed with {or_(self.allowed)} and has no meaning "
            "with others"
        )


def or_(values: Values) -> str:
    """Return a list of values in words, such as "'ball' or 'ring'"."""
    return " or ".join("null" if value is None else f"'{value}'" for value in values)


def _of_losses() -> dict[str, Belongs]:
    names = dict.fromkeys(n for loss in LOSSES.values() for n in (*loss.needs, *loss.may))
    return {
        name: Belongs("loss", tuple(losses_that("needs", name)), tuple(losses_that("may", name)))
        for name in names
        if name != "tau"
    }


_CLUSTERED = Belongs("drawn", ("cave",), or_with=(Belongs("neighbours", ("k-neighbourhood",)),))
_INNER = Belongs("drawn", ("ring",), or_with=(Belongs("neighbours", ("s-neighbourhood",)),))
_GROWING = Belongs(
    "drawn", (), ("ring",), or_with=(Belongs("neighbours", (), ("s-neighbourhood",)),)
)

BELONGS: dict[str, Belongs] = {
    "local_size": Belongs("views", ("multi-crop",)),
    "momentum": Belongs("target", ("momentum",)),
    "bank_rate": Belongs("target", ("bank",)),
    "bank_normalised": Belongs("target", ("bank",)),
    "negative_views": Belongs("negatives", ("batch",)),
    "K": Belongs("negatives", (), ("batch", "queue", "bank")),
    "queue_start": Belongs("negatives", ("queue",)),
    "rho": Belongs("negatives", ("previous",)),
    "centre": Belongs("negatives", ("bank",)),
    "ball_share": Belongs("drawn", ("ball", "ring", "cave")),
    "anneal_epochs": Belongs("drawn", (), ("ball", "ring", "cave")),
    "clusters": _CLUSTERED,
    "clusterings": _CLUSTERED,
    "inner_share": _INNER,
    "inner_from_epoch": _GROWING,
    "inner_to_epoch": _GROWING,
    "support_size": Belongs("neighbours", ("nearest",)),
    "neighbour_sum": Belongs("neighbours", ("s-neighbourhood", "k-neighbourhood")),
    "neighbour_count": Belongs("neighbours", ("s-neighbourhood",), ("k-neighbourhood",)),
    **_of_losses(),
    "delta": Belongs("weight", ("exp",)),
    "lr_drop_epochs": Belongs("lr_schedule", ("step",)),
    "plateau_patience": Belongs("lr_schedule", ("plateau",)),
    "plateau_drops": Belongs("lr_schedule", ("plateau",)),
}
"""Settings of `pretrain` that have a meaning with some values of another one alone."""


WITH_GRADIENT: dict[str, Belongs] = {
    "eps": Belongs("positive_gradient", ("predictor",)),
    "form": Belongs("positive_gradient", ("predictor",)),
    "half_power": Belongs("balance", (None,)),
    "var_weight": Belongs("negative_gradient", ("variance",)),
    "gamma": Belongs("negative_gradient", ("variance",)),
}
"""What holds with loss 'gradient' beside: its parts need these settings."""

DRAWN = {
    "bank": ("uniform", "nearest", "ball", "ring", "cave"),
    "queue": ("uniform", "earliest", "newest"),
}
"""How negatives may be drawn, by where they come from."""
