"""Table of objectives: the function of each and its settings.

A new objective is a function in `bench.losses`, a line in `LOSSES`, and a test. Its keyword
arguments are the cell's settings of the same names. `sees` names its other inputs.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, ValidationInfo

from bench.errors import choices

Q_B_BINS = 20  # of the histogram of q_B over [0, 1]
Sees = Literal[
    "margin", "scalar_NK", "globals_2NK", "close_NK", "kappa", "queued_NK",
    "correlation_DD", "samples_MD",
    "allowed_NM",
]  # fmt: skip


class Loss(NamedTuple):
    """An objective: `function(pos_N, neg_NK, ...)`, or `function(online_ND, target_ND, ...)`."""

    function: str  # its module in bench.losses, and its name there
    over: Literal["similarities", "features"]
    needs: tuple[str, ...] = ()  # settings without which it means nothing
    may: tuple[str, ...] = ()  # settings that it takes too
    sees: tuple[Sees, ...] = ()  # what the method hands it beside, by keyword
    closer: bool = False  # whether close neighbours may share the positive's place
    linear: bool = False  # in the positive, which then may be a mixture (CutMix, multi-crop)
    is_loss: bool = True  # False: only its gradient has a meaning, its value has none


LOSSES: dict[str, Loss] = {
    "infonce": Loss("contrastive.infonce", "similarities", ("tau",), closer=True),
    "eqco": Loss(
        "contrastive.infonce", "similarities", ("tau", "alpha"), sees=("margin",), closer=True
    ),
    "dcl": Loss("contrastive.dcl", "similarities", ("tau",), closer=True),
    "dclw": Loss(
        "contrastive.dclw", "similarities", ("tau", "weight", "sigma", "through_weight"), ("delta",)
    ),
    "dual-temperature": Loss(
        "contrastive.dual_temperature",
        "similarities",
        ("tau", "tau_beta", "form"),
        ("alpha",),
        sees=("margin", "scalar_NK"),
    ),
    "ir": Loss("instance.ir", "similarities", ("tau", "normaliser"), ("kappa",), sees=("kappa",)),
    "la": Loss(
        "instance.la",
        "similarities",
        ("tau", "normaliser", "own_entry"),
        sees=("globals_2NK", "close_NK", "kappa"),
        closer=True,
    ),
    "align-uniform": Loss(
        "alignment.align_uniform",
        "features",
        ("align_alpha", "uniform_t", "align_weight", "uniform_weight"),
        sees=("queued_NK",),
    ),
    "cosine": Loss("siamese.cosine_distance", "features", linear=True),
    "directpred": Loss(
        "siamese.directpred", "features", ("eps", "form"), sees=("correlation_DD",), linear=True
    ),
    "barlow-twins": Loss("siamese.barlow_twins", "features", ("balance",)),
    "vicreg": Loss("siamese.vicreg", "features", ("cov_weight", "var_weight", "gamma")),
    "unigrad": Loss(
        "siamese.unigrad", "features", ("balance",), sees=("correlation_DD",), linear=True
    ),
    "gradient": Loss(
        "gradient_form.gradient_form",
        "features",
        ("positive_gradient", "negative_gradient", "gradient_scale"),
        ("tau", "balance", "eps", "form", "half_power", "var_weight", "gamma"),
        sees=("correlation_DD", "samples_MD", "allowed_NM"),
        linear=True,
        is_loss=False,
    ),
}
LOSS_OPTIONS: dict[str, dict[str, object]] = {
    "dclw": {"weight": "vmf", "sigma": 0.5, "through_weight": False},  # DCL, Sec. 3
    "dual-temperature": {"form": "released"},
    "ir": {"normaliser": "constant"},  # the code that mutual-information, App. C.3, names
    "la": {"normaliser": "constant", "own_entry": "if-near"},  # the same code
    "gradient": {"gradient_scale": 1.0},
}
"""Values of a loss's settings if neither suite nor preset gives them."""
KAPPA = 2876934.2 / 1281167  # mutual-information, eq-1-kappa


def kappa_of(settings: Mapping[str, Any]) -> float | None:
    """Return the default kappa of these settings; None if there is none or it is estimated.

    The paper's number is the mean of e^{s / tau} over random directions of 128 dimensions at tau =
    0.07: it applies only to this dimension and temperature. Under the literal interpretation, kappa
    does not change the gradient.
    """
    if settings.get("loss") != "ir":
        return None
    fits = settings.get("feature_dim") == 128 and settings.get("tau") == 0.07
    return KAPPA if fits or settings.get("normaliser") == "sampled" else None


OWN = Loss("", "features")
"""Properties of a user's own objective that are known without its files (`bench.loss_files`)."""


def loss_named(name: str) -> Loss:
    """Return the table entry of an objective."""
    return LOSSES.get(name, OWN)


def _known(name: str, info: ValidationInfo) -> str:
    if name in LOSSES:
        return name
    of_cell: dict[str, Any] = getattr(info, "data", None) or {}
    if of_cell.get("loss_file") is None:
        raise ValueError(f"loss '{name}' is unknown. {choices(name, list(LOSSES))}")
    return name


LossName = Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": list(LOSSES)})]


def losses_that(part: Literal["needs", "may"], setting: str) -> list[str]:
    """Return the names of the losses that need, or accept, a setting."""
    return [name for name, loss in LOSSES.items() if setting in getattr(loss, part)]
