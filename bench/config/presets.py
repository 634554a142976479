"""Methods as points: for each preset the value of every coordinate, and where it comes from.

A suite may override any coordinate. Nothing in the code depends on a preset's name: it is a label
that does not enter a cell's id.
"""

from typing import Any, NamedTuple, get_args

from bench.config.learning_rate import Rule, scaled_lr
from bench.config.suite import Scalar
from bench.errors import choices

SIMCLR = "arXiv:2002.05709"
MOCO = "arXiv:1911.05722"
MOCO_V2 = "arXiv:2003.04297"
NNCLR = "arXiv:2104.14548"
HYPERSPHERE = "arXiv:2005.10242"


class Coordinate(NamedTuple):
    """The value of one setting, and where it comes from."""

    value: Scalar
    source: str


class Preset(NamedTuple):
    """A method of the literature as coordinates."""

    what: str
    coordinates: dict[str, Coordinate]

    @property
    def settings(self) -> dict[str, Scalar]:
        """The values alone."""
        return {name: coordinate.value for name, coordinate in self.coordinates.items()}


def _preset(what: str, *bases: Preset, **changes: tuple[Scalar, str]) -> Preset:
    """Return a preset: what the bases say, later ones first asked, and what changes."""
    coordinates: dict[str, Coordinate] = {}
    for base in bases:
        coordinates |= base.coordinates
    return Preset(what, coordinates | {k: Coordinate(*v) for k, v in changes.items()})


_SIMCLR = _preset(
    "SimCLR: all other views of the batch are negatives, gradient through both sides",
    views=("simclr", f"{SIMCLR}, App. A; restated in DCL, App. 4"),
    projector_layers=(2, f"{SIMCLR}, Sec. 2.1: MLP with one hidden layer"),
    projector_hidden_dim=(2048, f"{SIMCLR}, Sec. 4.2: the width of ResNet-50's features"),
    projector_bn=("hidden", f"not stated in {SIMCLR}"),
    feature_dim=(128, f"{SIMCLR}, Sec. 2.3; DCL, Sec. 4.1; EqCo, Sec. 2.3"),
    predictor_layers=(0, f"{SIMCLR}: none"),
    bn=("sync", f"{SIMCLR}, Sec. 2.2: Global BN"),
    bn_over=("views-together", f"{SIMCLR}, Algorithm 1 leaves it open; both views as one batch"),
    target=("shared", "UniGrad, Table 1: weight-sharing, gradients through both branches"),
    negatives=("batch", f"{SIMCLR}, Sec. 2.1"),
    negative_views=("both", "DCL, Eq. 1: 2(N - 1) negatives"),
    neighbours=("none", f"{SIMCLR}"),
    loss=("infonce", f"{SIMCLR}, Eq. 1; DCL, Eq. 1"),
    tau=(0.1, "DCL, Sec. 4.1 (ImageNet)"),
    symmetric=(True, "DCL, Eq. 1: both views are anchors"),
)
_MOCO = _preset(
    "MoCo: negatives from a queue of momentum keys",
    views=("moco-v1", f"{MOCO}, Sec. 3.3"),
    projector_layers=(1, f"{MOCO}, Sec. 3.3: a linear layer"),
    feature_dim=(128, f"{MOCO}, Sec. 3.3; EqCo, Sec. 2.3"),
    predictor_layers=(0, f"{MOCO}: none"),
    bn=("shuffling", f"{MOCO}, Sec. 3.3"),
    bn_groups=(8, f"{MOCO}, Sec. 3.3: 8 GPUs normalise separately"),
    bn_over=("each-view", f"{MOCO}, Algorithm 1: queries and keys are encoded apart"),
    target=("momentum", f"{MOCO}, Eq. 2"),
    momentum=(0.999, f"{MOCO}, Sec. 3.3"),
    negatives=("queue", f"{MOCO}, Sec. 3.2"),
    K=(65536, f"{MOCO}, Sec. 4.1; EqCo, Sec. 2.3"),
    queue_start=("random", f"{MOCO}, released code: unit Gaussian vectors"),
    neighbours=("none", f"{MOCO}"),
    loss=("infonce", f"{MOCO}, Eq. 1"),
    tau=(0.07, f"{MOCO}, Sec. 3.3; DCL, Fig. 3(b)"),
    symmetric=(False, f"{MOCO}, Algorithm 1"),
)
_MOCO_V2 = _preset(
    "MoCo v2: MoCo with an MLP projector and stronger views",
    _MOCO,
    views=("moco-v2", f"{MOCO_V2}, Sec. 3"),
    projector_layers=(2, f"{MOCO_V2}, Sec. 3"),
    projector_hidden_dim=(2048, f"{MOCO_V2}, Sec. 3"),
    projector_bn=("none", f"{MOCO_V2}, Sec. 3: ReLU alone"),
    tau=(0.2, f"{MOCO_V2}, Sec. 3"),
)
_SIMO = _preset(
    "SiMo: momentum keys of the current batch alone, SyncBN, BN after each projector layer",
    _MOCO_V2,
    bn=("sync", "EqCo, Sec. 3"),
    bn_groups=(1, "EqCo, Sec. 3: synchronised"),
    projector_bn=("all", "EqCo, Sec. 3: a BN after each fully-connected layer"),
    momentum=(0.999, "EqCo, App. B.1"),
    negatives=("batch", "EqCo, Sec. 3: no memory bank"),
    negative_views=("keys", "EqCo, Sec. 3: keys of the current batch"),
    K=(None, "EqCo, Sec. 3: all other keys; K is drawn where it is smaller"),
    queue_start=(None, "no queue"),
)
_SIMMOCO = _preset(
    "SimMoCo: momentum keys of the batch, dual temperature",
    _SIMO,
    bn=("plain", "dual-temperature, Sec. A: one GPU"),
    projector_bn=("none", "MoCo v2's; not in the supplement"),
    momentum=(0.999, "MoCo's; not in the supplement"),
    loss=("dual-temperature", "dual-temperature, Sec. C, Algorithm 1"),
    form=("released", "dual-temperature: the released code; Algorithm 1 omits a temperature"),
    tau=(0.1, "dual-temperature, Sec. A"),
    tau_beta=(1.0, "dual-temperature, Sec. D: large; value not in the supplement"),
)
_SIMCO = _preset(
    "SimCo: SimMoCo without a momentum encoder",
    _SIMMOCO,
    target=("shared", "dual-temperature, Sec. D: one encoder yields queries and keys"),
    momentum=(None, "dual-temperature, Sec. D: no momentum encoder"),
)
_NNCLR = _preset(
    "NNCLR: the nearest neighbour of a view in a support set is the anchor",
    _SIMCLR,
    projector_layers=(3, f"{NNCLR}, Sec. 4.1"),
    projector_bn=("all", f"{NNCLR}, Sec. 4.1"),
    feature_dim=(256, f"{NNCLR}, Sec. 4.1"),
    predictor_layers=(2, f"{NNCLR}, Sec. 4.1"),
    predictor_hidden_dim=(4096, f"{NNCLR}, Sec. 4.1"),
    predictor_bn=("hidden", f"{NNCLR}, Sec. 4.1"),
    neighbours=("nearest", f"{NNCLR}, Eq. 2"),
    support_size=(98304, f"{NNCLR}, Sec. 4.1"),
    negative_views=("keys", f"{NNCLR}, Eq. 3: predictions of the other view"),
)
_HYPERSPHERE = _preset(
    "Hypersphere: alignment and uniformity of the features",
    _SIMCLR,
    views=("hypersphere", f"{HYPERSPHERE}, App. B (STL-10)"),
    projector_layers=(1, f"{HYPERSPHERE}, App. B: a linear output layer"),
    projector_hidden_dim=(None, "no hidden layer"),
    projector_bn=(None, "no hidden layer"),
    loss=("align-uniform", f"{HYPERSPHERE}, Sec. 4; DCL, App. 5"),
    align_alpha=(2.0, f"{HYPERSPHERE}, Sec. 4.2"),
    uniform_t=(2.0, f"{HYPERSPHERE}, Sec. 4.2"),
    align_weight=(1.0, f"{HYPERSPHERE}, released code; DCL, App. 5 does not give it"),
    uniform_weight=(1.0, f"{HYPERSPHERE}, released code; DCL, App. 5 does not give it"),
)

PRESETS: dict[str, Preset] = {
    "simclr": _SIMCLR,
    "moco": _MOCO,
    "moco-v2": _MOCO_V2,
    "simo": _SIMO,
    "simmoco": _SIMMOCO,
    "simco": _SIMCO,
    "nnclr": _NNCLR,
    "hypersphere": _HYPERSPHERE,
}

ONLY_WITH: dict[str, tuple[str, Any]] = {
    "momentum": ("target", "momentum"),
    "negative_views": ("negatives", "batch"),
    "queue_start": ("negatives", "queue"),
    "support_size": ("neighbours", "nearest"),
    "weight": ("loss", "dclw"),
    "through_weight": ("loss", "dclw"),
    "sigma": ("loss", "dclw"),
    "delta": ("weight", "exp"),
    "tau_beta": ("loss", "dual-temperature"),
    "form": ("loss", "dual-temperature"),
    "align_alpha": ("loss", "align-uniform"),
    "uniform_t": ("loss", "align-uniform"),
    "align_weight": ("loss", "align-uniform"),
    "uniform_weight": ("loss", "align-uniform"),
    "lr_drop_epochs": ("lr_schedule", "step"),
    "plateau_patience": ("lr_schedule", "plateau"),
    "plateau_drops": ("lr_schedule", "plateau"),
}
"""Fields that belong to one value of another: field -> (the other, its value); there iff equal."""
LOSS_OPTIONS: dict[str, dict[str, Any]] = {
    "dclw": {"weight": "vmf", "sigma": 0.5, "through_weight": False},  # DCL, Sec. 3
    "dual-temperature": {"form": "released"},
}
"""What a loss takes where neither suite nor preset says it."""


def filled(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with what the preset says, N and the learning rate; explicit ones win.

    Where a setting overrides an axis of the preset, what the preset needed for it is dropped.

    Raises:
        ValueError: `method` names no preset.
    """
    method = settings.get("method")
    if not isinstance(method, str) or method not in PRESETS:
        raise ValueError(f"method '{method}' is unknown. {choices(str(method), list(PRESETS))}")
    options = LOSS_OPTIONS.get(str(settings.get("loss")), {})
    merged = PRESETS[method].settings | options | settings
    for name, (other, value) in ONLY_WITH.items():
        if name not in settings and merged.get(name) is not None and merged.get(other) != value:
            merged[name] = None
    if merged.get("N") is None:
        merged["N"] = merged.get("batch_size")
    if "lr" not in merged and isinstance(merged.get("base_lr"), int | float):
        rule = merged.setdefault("lr_scaling", "none")
        if isinstance(merged["N"], int) and rule in get_args(Rule):
            merged["lr"] = scaled_lr(merged["base_lr"], merged["N"], rule)
    return merged
