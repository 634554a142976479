"""Rules on which settings of `pretrain` fit together."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bench.cells.architectures import OF_TIMM, SMALL_ALEXNET, alexnet_size
from bench.cells.axes import Coordinates
from bench.cells.learning_rate import check_rate, scaled_lr
from bench.cells.linear_protocols import linear_protocol
from bench.cells.losses import LOSSES, OWN, loss_named, losses_that


def check_agreement(cell: Coordinates) -> None:
    """Check that the settings fit together.

    Raises:
        ValueError: two settings do not fit together. The message describes the first violation.
    """
    settings = vars(cell)
    for name, rule in BELONGS.items():
        if not rule.holds(name, settings):
            state = "missing" if settings[name] is None else "given"
            where = f"; here {name} is {state} and {rule.other} is {or_((settings[rule.other],))}"
            raise ValueError(rule.message(name) + ("" if rule.or_with else where))
    for check in (
        _check_encoder, _check_heads, _check_batch_norm, *CHECKS_OF_NEGATIVES, _check_objective,
        _check_gradient, _check_mixtures, _check_evaluations, _check_training,
    ):  # fmt: skip
        check(cell)


def _check_heads(cell: Coordinates) -> None:
    for head in ("projector", "predictor"):
        layers = getattr(cell, f"{head}_layers")
        for part in ("hidden_dim", "bn"):
            if layers > 1 and getattr(cell, f"{head}_{part}") is None:
                raise ValueError(f"{head}_{part} must be set, because {head}_layers is {layers}")
    need(
        not cell.eigenspaces or (cell.predictor_layers == 1 and cell.predictor_bn != "all"),
        "eigenspaces needs a linear predictor: predictor_layers must be 1 and "
        "predictor_bn not 'all'",
    )
    need(
        cell.colour == "rgb" or (cell.target == "bank" and cell.predictor_layers == 0),
        "colour 'lab' needs target 'bank' and predictor_layers 0",
    )


def _check_encoder(cell: Coordinates) -> None:
    alexnet = cell.arch == SMALL_ALEXNET
    plain = cell.stem == "cifar" and not cell.zero_init_residual and cell.views != "multi-crop"
    need(
        not alexnet or (plain and alexnet_size(cell.image_size) > 0),
        "arch 'small-alexnet' needs stem 'cifar', image_size of 15 or more, zero_init_residual "
        "false and views of one size",
    )
    whole = (cell.stem, cell.width, cell.bn_groups) == ("imagenet", 64, 1)
    whole &= cell.views != "multi-crop" and cell.colour == "rgb" and not cell.zero_init_residual
    need(
        not cell.arch.startswith(OF_TIMM) or whole,
        f"arch '{cell.arch}' has fixed layers: it needs stem 'imagenet', width 64, bn_groups "
        "1, zero_init_residual false, colour 'rgb' and views of one size",
    )


def _check_batch_norm(cell: Coordinates) -> None:
    if cell.bn == "shuffling" and (cell.bn_groups < 2 or cell.target != "momentum"):
        raise ValueError("bn 'shuffling' needs bn_groups of 2 or more and target 'momentum'")
    if cell.bn == "sync" and cell.bn_groups != 1:
        raise ValueError("bn 'sync' normalises the whole batch at once, so bn_groups must be 1")
    views = 2 if cell.bn_over == "views-together" else 1
    parts = cell.batch_size * views / cell.bn_groups
    if parts != int(parts) or parts < 2:
        raise ValueError(
            f"batch_size {cell.batch_size} cannot be divided into {cell.bn_groups} "
            "equal bn_groups of 2 or more images"
        )
    together = cell.bn_over == "views-together"
    if together and cell.target in ("momentum", "bank"):
        raise ValueError(
            "bn_over 'views-together' cannot be used with target 'momentum' or 'bank', "
            "where queries and keys come from different encoders"
        )
    need(
        not together or cell.norm != "bn",
        "norm 'bn' normalises each view separately, so bn_over must be 'each-view'",
    )
    need(
        not together or cell.views != "multi-crop",
        "views 'multi-crop' have two sizes, so bn_over must be 'each-view'",
    )


def _check_objective(cell: Coordinates) -> None:
    loss = loss_named(cell.loss)
    need(
        cell.tau is not None or "tau" not in loss.needs,
        f"tau must be set with loss '{cell.loss}'",
    )
    similar = loss.over == "similarities"
    need(
        not similar or (cell.norm == "l2" and cell.negatives in ("batch", "queue", "bank")),
        f"loss '{cell.loss}' needs norm 'l2', and negatives 'batch', 'queue' or 'bank'",
    )
    need(
        similar or (cell.target != "bank" and cell.witness == "dot"),
        f"loss '{cell.loss}' compares outputs directly, so witness must be 'dot' "
        "and target not 'bank'",
    )
    _check_sample_set(cell)
    _check_normaliser(cell)
    need(
        cell.loss != "align-uniform"
        or (cell.negatives == "batch" and cell.K is None)
        or (cell.negatives == "queue" and cell.drawn is None),
        "loss 'align-uniform' needs negatives 'batch' with K null, or negatives "
        "'queue' with drawn null",
    )
    need(
        cell.witness == "dot" or cell.negatives in ("bank", "queue", "batch"),
        "a witness other than 'dot' needs negatives 'batch', 'queue' or 'bank'",
    )


def _check_normaliser(cell: Coordinates) -> None:
    """Check what the objectives as they were first written ask of the bank."""
    if cell.loss not in ("ir", "la"):
        return
    literal = cell.normaliser == "sampled"
    need(cell.loss != "la" or cell.negatives == "bank", "loss 'la' needs negatives 'bank'")
    if cell.loss == "ir":
        need(
            cell.kappa is not None or (not literal and cell.negatives == "bank"),
            "kappa may be null only with normaliser 'constant' and negatives 'bank', "
            "where kappa is estimated",
        )
        return
    near = (cell.drawn, cell.centre, cell.neighbours, cell.neighbour_count, cell.neighbour_sum)
    need(
        cell.own_entry != "if-near"
        or (not literal and near == ("nearest", "view", "k-neighbourhood", None, "inside")),
        "own_entry 'if-near' needs normaliser 'constant', drawn 'nearest', centre 'view', and "
        "neighbours 'k-neighbourhood' with neighbour_count null and neighbour_sum 'inside'",
    )


def _check_sample_set(cell: Coordinates) -> None:
    """Check what objectives over features see besides a query and its key."""
    loss = loss_named(cell.loss)
    if loss.over == "similarities" or cell.loss == "align-uniform" or loss is OWN:
        return
    if loss.is_loss:
        sets = ("previous", "batch") if "correlation_DD" in loss.sees else ("none",)
        need(cell.negatives in sets, f"loss '{cell.loss}' needs negatives {or_(sets)}")
    if cell.negatives == "batch":
        views = "both" if cell.negative_gradient == "softmax" else "keys"
        need(
            cell.symmetric and cell.K is None and cell.negative_views in ("keys", views),
            f"loss '{cell.loss}' compares the whole batch, so it needs symmetric true, "
            f"K null and negative_views '{views}'",
        )


_SETS = {
    "softmax": ("batch", "queue"),
    "online": ("batch", "previous"),
    "target": ("batch",),
    "variance": ("batch",),
}  # of negatives, for each form of a negative gradient


def _check_gradient(cell: Coordinates) -> None:
    if cell.loss != "gradient":
        return
    predictor = cell.positive_gradient == "predictor"
    form = str(cell.negative_gradient)
    need(
        cell.balance is not None or predictor,
        "balance may be null only with positive_gradient 'predictor', which computes "
        "balance at each step",
    )
    settings = vars(cell)
    for name, rule in WITH_GRADIENT.items():
        need(rule.holds(name, settings), rule.message(name))
    need(
        cell.negatives in _SETS[form] and cell.queue_size is None,
        f"negative_gradient '{form}' needs queue_size null and negatives {or_(_SETS[form])}",
    )
    need(
        form != "softmax" or cell.tau is not None,
        "negative_gradient 'softmax' needs a value of tau",
    )
    need(
        not predictor or form == "online",
        "positive_gradient 'predictor' needs negative_gradient 'online'",
    )
    need(
        cell.predictor_layers == 0 and cell.target != "shared",
        "loss 'gradient' computes no gradient through the targets, so it needs "
        "target 'stop-gradient' or 'momentum', and predictor_layers 0",
    )


def _check_mixtures(cell: Coordinates) -> None:
    need(
        cell.local_size is None or cell.local_size <= cell.image_size,
        f"local_size {cell.local_size} is above image_size {cell.image_size}",
    )
    need(
        cell.target != "own" or (cell.negatives == "none" and not cell.cutmix),
        "target 'own' computes the whole step in its own code, so negatives must "
        "be 'none' and cutmix false",
    )
    need(
        not (cell.cutmix and cell.online_linear),
        "online_linear cannot be used with cutmix: its classifier learns only from "
        "images that are not mixed",
    )
    plain = cell.tau and cell.colour == "rgb" and cell.witness == "dot" and cell.norm == "l2"
    need(
        cell.weights_K is None or bool(plain),
        "weights_K needs a value of tau, colour 'rgb', witness 'dot' and norm 'l2'",
    )
    need(
        cell.views != "multi-crop" or cell.negatives in ("previous", "none"),
        "views 'multi-crop' need negatives 'previous' or 'none'",
    )
    if cell.cutmix or (cell.views == "multi-crop" and cell.target != "own"):
        mixture = "cutmix" if cell.cutmix else "views 'multi-crop'"
        linear = [name for name, loss in LOSSES.items() if loss.linear]
        parts = (cell.positive_gradient, cell.negative_gradient)
        need(
            parts[0] != "whitened" and parts[1] not in ("target", "variance"),
            f"{mixture} cannot be used with positive_gradient 'whitened', or "
            "negative_gradient 'target' or 'variance': the gradient must be linear in "
            "the positive",
        )
        targets = ("momentum",) if cell.cutmix else ("momentum", "stop-gradient")
        need(
            cell.loss in linear and cell.target in targets and cell.symmetric,
            f"{mixture} mixes positives, so it needs symmetric true, target "
            f"{or_(targets)} and one of these losses: {', '.join(linear)}",
        )


def _check_evaluations(cell: Coordinates) -> None:
    need(
        cell.evaluated_on != cell.dataset,
        f"evaluated_on names the training data set '{cell.evaluated_on}' again: "
        "leave evaluated_on out",
    )
    need(
        cell.evaluated_on is None or cell.held_out is None,
        "held_out and evaluated_on cannot be set together: each replaces the test "
        "images of the data set",
    )
    need(
        cell.test_warp == "none" or cell.evaluated_set == "digits",
        f"test_warp '{cell.test_warp}' can be used only with dataset 'digits'",
    )


def _check_training(cell: Coordinates) -> None:
    if cell.N % cell.batch_size:
        raise ValueError(f"N = {cell.N} is not a multiple of batch_size {cell.batch_size}")
    if cell.lr_schedule == "plateau" and cell.knn_every_epochs != 1:
        raise ValueError(
            "lr_schedule 'plateau' follows the kNN accuracy of each epoch, so "
            "knn_every_epochs must be 1"
        )
    need(
        cell.knn_every_epochs > 0
        or not (cell.components or cell.eigenspaces or cell.watch != "knn"),
        "components, eigenspaces and watch take effect only during evaluations in "
        "training, so knn_every_epochs must be above 0",
    )
    linear_protocol(cell.linear)
    need(
        cell.q_b_limit is None or (cell.tau is not None and cell.target != "own"),
        "q_b_limit needs a value of tau, which q_B depends on, and a target other than 'own', "
        "which compares no queries with keys",
    )
    need(
        cell.lr_bias is None or cell.exempt or cell.optimizer == "muon",
        "lr_bias needs exempt true or optimizer 'muon', which treat biases and BN separately",
    )
    need(
        not cell.weight_decay_end or cell.weight_decay > 0,
        "weight_decay_end needs a weight_decay above 0, from which the decay moves "
        "to this end value",
    )
    need(
        cell.clip_norm is None or cell.clip_each is None,
        "clip_norm and clip_each cannot be set together; remove one of them",
    )
    scaling = cell.lr_scaling or "none"
    need(
        cell.base_lr_bias is None or cell.lr_bias == scaled_lr(cell.base_lr_bias, cell.N, scaling),
        "lr_bias is not the value that base_lr_bias and lr_scaling give; change "
        "base_lr_bias, and leave lr_bias out",
    )
    check_rate(lr=cell.lr, base_lr=cell.base_lr, lr_scaling=cell.lr_scaling, N=cell.N)


OptionValues = tuple[str | None, ...]


class Belongs(NamedTuple):
    """Rule: a setting applies only with some values of another, and may be required with some."""

    other: str
    needed: OptionValues
    allowed: OptionValues = ()
    or_with: tuple["Belongs", ...] = ()  # other settings, of which one is enough

    @property
    def alternatives(self) -> tuple["Belongs", ...]:
        """This rule and the rules for the other settings that it may apply with."""
        return (self, *self.or_with)

    def has_meaning(self, settings: Mapping[str, Any]) -> bool:
        """Return whether the setting applies with these other settings."""
        for rule in self.alternatives:
            value = settings.get(rule.other)
            if value in rule.needed or value in rule.allowed:
                return True
        return False

    def holds(self, name: str, settings: Mapping[str, Any]) -> bool:
        """Return whether the setting is present if required, and null if it does not apply."""
        if settings[name] is not None:
            return self.has_meaning(settings)
        if not self.or_with:  # nearly all rules, and each is asked of each cell
            return settings.get(self.other) not in self.needed
        return not any([settings.get(rule.other) in rule.needed for rule in self.alternatives])

    def message(self, name: str) -> str:
        """Return the rule as a sentence without a full stop."""
        needed = " or ".join(f"{r.other} {or_(r.needed)}" for r in self.alternatives)
        allowed = " or ".join(f"{r.other} {or_(r.allowed)}" for r in self.alternatives)
        if not self.allowed:
            return f"{name} must be set with {needed}, and left out otherwise"
        if not self.needed:
            return f"{name} can be set only with {allowed}"
        return (
            f"{name} must be set with {needed}, may be set with {or_(self.allowed)}, "
            "and must be left out otherwise"
        )


def or_(values: OptionValues) -> str:
    """Return a list of values as text, such as "'ball' or 'ring'"."""
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
    "bank_start": Belongs("target", (), ("bank",)),
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
"""Settings of `pretrain` that apply only with some values of another setting."""


WITH_GRADIENT: dict[str, Belongs] = {
    "eps": Belongs("positive_gradient", ("predictor",)),
    "form": Belongs("positive_gradient", ("predictor",)),
    "half_power": Belongs("balance", (None,)),
    "var_weight": Belongs("negative_gradient", ("variance",)),
    "gamma": Belongs("negative_gradient", ("variance",)),
}
"""Settings that the parts of loss 'gradient' need."""

DRAWN = {
    "bank": ("uniform", "nearest", "ball", "ring", "cave"),
    "queue": ("uniform", "earliest", "newest"),
}
"""Ways of drawing negatives, by their source."""


def need(condition: bool, message: str) -> None:
    """Raise ValueError with the sentence unless the condition holds."""
    if not condition:
        raise ValueError(message)


def _check_targets(cell: Coordinates) -> None:
    need(
        (cell.target == "bank") == (cell.negatives == "bank"),
        "target 'bank' and negatives 'bank' can be used only together",
    )
    need(
        cell.target != "bank" or cell.symmetric == (cell.colour == "lab"),
        "target 'bank' needs symmetric false with colour 'rgb', and symmetric true "
        "with colour 'lab'",
    )
    if cell.negative_branch == "online":
        need(
            cell.negatives in ("batch", "previous")
            and cell.target != "stop-gradient"
            and cell.negative_gradient in (None, "softmax", "online")
            and cell.symmetric
            and not cell.cutmix
            and cell.predictor_layers == 0,
            "negative_branch 'online' needs negatives 'batch' or 'previous', a target "
            "other than 'stop-gradient' (which is the online branch already), "
            "negative_gradient null, 'softmax' or 'online', symmetric true, cutmix "
            "false and predictor_layers 0",
        )
    if cell.momentum_schedule == "cosine" and cell.momentum is None:
        raise ValueError("momentum_schedule 'cosine' needs target 'momentum'")


def _check_queue(cell: Coordinates) -> None:
    if cell.negatives != "queue":
        need(
            cell.queue_size is None,
            "queue_size can be set only with negatives 'queue', but negatives is "
            f"'{cell.negatives}'",
        )
        return
    need(cell.K is not None, "K must be set with negatives 'queue'")
    if cell.queue_size is not None and cell.queue_size < cell.count:
        raise ValueError(f"K is {cell.K}, but the queue holds only {cell.queue_size} keys")
    if cell.queue_start == "empty" and cell.queue_size is not None:
        raise ValueError(
            "queue_start 'empty' cannot be combined with queue_size: the first steps "
            "would have fewer than K keys to draw from"
        )
    if cell.drawn is not None:
        need(
            cell.drawn in DRAWN["queue"] and cell.queue_size is not None,
            f"with negatives 'queue', drawn must be one of {', '.join(DRAWN['queue'])}, "
            "and queue_size must be set",
        )


def _check_pool(cell: Coordinates) -> None:
    need(
        not cell.cached_negatives
        or (
            (cell.batch_size < cell.N and cell.negatives == "batch")
            and not (cell.cutmix or cell.norm == "bn")
        ),
        "cached_negatives needs N above batch_size, negatives 'batch', cutmix "
        "false and a norm other than 'bn'",
    )
    if cell.negatives == "batch" and cell.K is not None and cell.pool < cell.K:
        where = "a step" if cell.cached_negatives else "a batch"
        raise ValueError(
            f"K is {cell.K}, but {where} of {cell.images_compared} images has only "
            f"{cell.pool} negatives (negative_views '{cell.negative_views}')"
        )
    if cell.negatives not in DRAWN:
        need(
            cell.drawn is None,
            "drawn can be set only with negatives 'bank' or 'queue', but negatives is "
            f"'{cell.negatives}'",
        )


def _check_bank(cell: Coordinates) -> None:
    need(
        cell.drawn != "ring" or (cell.inner_share or 0) < (cell.ball_share or 0),
        f"inner_share {cell.inner_share} must be below ball_share "
        f"{cell.ball_share}, or the ring is empty",
    )
    begin, end = cell.inner_from_epoch, cell.inner_to_epoch
    need(
        (begin is None) == (end is None), "inner_from_epoch and inner_to_epoch must be set together"
    )
    need(
        begin is None or end is None or begin < end,
        f"inner_from_epoch {begin} must be below inner_to_epoch {end}",
    )
    annealed = cell.anneal_epochs is not None or end is not None
    need(
        annealed or cell.anneal_every == "epoch",
        "anneal_every 'step' needs a value of anneal_epochs or inner_to_epoch",
    )
    if cell.negatives == "bank":
        need(
            cell.drawn in DRAWN["bank"] and cell.K is not None,
            "negatives 'bank' needs a value of K, and drawn must be one of "
            f"{', '.join(DRAWN['bank'])}",
        )
    else:
        need(cell.uniform_epochs == 0, "uniform_epochs can be set only with negatives 'bank'")
    need(
        cell.uniform_epochs == 0 or cell.uniform_epochs < cell.epochs,
        f"uniform_epochs = {cell.uniform_epochs} is not below epochs = {cell.epochs}",
    )


def _check_neighbours(cell: Coordinates) -> None:
    given = (cell.target, cell.negatives, cell.negative_views)
    if cell.neighbours == "nearest" and given != ("shared", "batch", "keys"):
        raise ValueError(
            "neighbours 'nearest' needs target 'shared', negatives 'batch' and negative_views "
            "'keys'"
        )
    if cell.neighbour_sum is not None:
        need(
            cell.negatives == "bank" and loss_named(cell.loss).closer,
            f"neighbours '{cell.neighbours}' needs negatives 'bank' and one of these "
            "losses: " + ", ".join(name for name, loss in LOSSES.items() if loss.closer),
        )
    if cell.neighbours == "k-neighbourhood" and cell.neighbour_count is None:
        need(
            cell.drawn == "nearest",
            "neighbours 'k-neighbourhood' needs a value of neighbour_count, or drawn 'nearest'",
        )


def _check_scalar(cell: Coordinates) -> None:
    given = [cell.K_scalar is not None, cell.scalar_size is not None, cell.scalar_drawn is not None]
    need(len(set(given)) == 1, "K_scalar, scalar_size and scalar_drawn must be set together")
    if cell.K_scalar is not None and cell.scalar_size is not None:
        need(
            cell.negatives == "queue" and cell.loss == "dual-temperature" and cell.alpha is None,
            "K_scalar needs negatives 'queue', loss 'dual-temperature' and alpha null",
        )
        need(
            cell.K_scalar <= cell.scalar_size,
            f"K_scalar is {cell.K_scalar}, but must not exceed scalar_size, which is "
            f"{cell.scalar_size}",
        )
        need(cell.queue_start == "random", "K_scalar needs queue_start 'random'")


CHECKS_OF_NEGATIVES: tuple[Callable[[Coordinates], None], ...] = (
    _check_targets, _check_queue, _check_pool, _check_bank, _check_neighbours, _check_scalar,
)  # fmt: skip
"""Each raises ValueError, in one line, for settings that exclude each other."""
