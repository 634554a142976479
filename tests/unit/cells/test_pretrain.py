"""The cell of `pretrain`: presets fill it, rules keep it sound, ids say what results depend on."""

import re
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from bench.cells.axes import EVALUATIONS, ViewSet
from bench.cells.losses import KAPPA
from bench.cells.pretrain import Pretrain
from bench.cells.rules import BELONGS, WITH_GRADIENT, Belongs
from bench.data.views import view_names
from bench.suites.presets import filled, paper_presets
from tests.fakes.cells import METHODS, SMALL, pretrain_cell, sizes_of, small_cell


@pytest.mark.parametrize("method", METHODS)
def test_every_coordinate_of_a_preset_is_a_field_with_a_source(method: str) -> None:
    for name, coordinate in paper_presets()[method].coordinates.items():
        assert name in Pretrain.model_fields
        assert coordinate.source


def test_a_preset_fills_what_the_suite_leaves_out() -> None:
    cell = small_cell("moco-v2", tau=0.3)
    assert (cell.target, cell.negatives, cell.momentum) == ("momentum", "queue", 0.999)
    assert cell.tau == 0.3
    assert cell.batch_size == cell.N


def test_the_record_names_the_view_sets_there_are() -> None:
    assert set(get_args(ViewSet)) == set(view_names())


def test_overriding_an_axis_drops_what_the_preset_needed_for_it() -> None:
    assert small_cell("simco", loss="dcl").tau_beta is None
    cell = small_cell("simclr", negatives="queue", K=8, queue_start="random")
    assert cell.negative_views is None


@pytest.mark.parametrize(
    ("method", "changes", "dropped", "kept"),
    [
        ("ring", {"drawn": "ball"}, {"inner_share"}, {"ball_share"}),
        ("ring-s-neigh", {"drawn": "ball"}, set(), {"inner_share"}),  # the neighbours' share
        ("cave", {"drawn": "uniform"}, {"clusters", "clusterings", "ball_share"}, {"K"}),
        ("ring", {"negatives": "none"}, {"K", "drawn"}, set()),
        (
            "byol-directpred",
            {"positive_gradient": "target", "balance": 0.1},
            {"eps", "form", "half_power"},
            {"positive_gradient"},
        ),
        ("byol-directpred", {"balance": 0.1}, {"half_power"}, {"eps", "form"}),
    ],
)
def test_what_has_no_meaning_with_an_override_is_dropped(
    method: str, changes: dict[str, Any], dropped: set[str], kept: set[str]
) -> None:
    before, after = (filled({"method": method} | more, paper_presets()) for more in ({}, changes))
    assert all(before[name] is not None and after[name] is None for name in dropped)
    assert all(after[name] is not None for name in kept)


@pytest.mark.parametrize(
    ("method", "changes", "kappa"),
    [
        ("ir", {"feature_dim": 128}, KAPPA),
        ("cmc", {"feature_dim": 128}, KAPPA),
        ("ir", {"feature_dim": 64}, None),
        ("ir", {"feature_dim": 128, "tau": 0.1}, None),
        ("ir-literal", {"feature_dim": 64}, KAPPA),
        ("ir-nce", {"feature_dim": 128}, None),
    ],
)
def test_the_papers_kappa_belongs_to_128_dimensions_at_its_temperature(
    method: str, changes: dict[str, Any], kappa: float | None
) -> None:
    assert small_cell(method, **changes).kappa == kappa


def test_the_rate_of_biases_follows_the_same_rule() -> None:
    settings = {k: v for k, v in SMALL.items() if k != "lr"} | {"projector_hidden_dim": 16}
    rates = {"base_lr": 0.3, "base_lr_bias": 0.05, "lr_scaling": "linear", "exempt": True}
    cell = pretrain_cell(**settings | rates)
    assert (cell.lr, cell.lr_bias) == pytest.approx((0.3 / 16, 0.05 / 16))
    assert cell.id != pretrain_cell(**settings | rates | {"base_lr_bias": 0.3}).id
    assert (
        cell.id
        == pretrain_cell(**settings | {"lr": 0.3 / 16, "lr_bias": 0.05 / 16, "exempt": True}).id
    )


def test_features_computed_once_are_told_by_the_protocols_record() -> None:
    shown, once, plain = (
        small_cell(linear="moco"), small_cell(linear="moco", linear_once=True),
        small_cell(linear="logistic"),
    )  # fmt: skip
    assert shown.evaluation("linear")["protocol"]["shown"] == "crop-flip"
    assert "shown" not in once.evaluation("linear")["protocol"]
    assert shown.id != once.id
    assert plain.id == small_cell(linear="logistic", linear_once=True).id


def test_a_loss_brings_its_own_options() -> None:
    cell = small_cell(loss="dclw")
    assert (cell.weight, cell.sigma, cell.through_weight) == ("vmf", 0.5, False)


@pytest.mark.parametrize(
    ("rule", "lr"), [("none", 0.1), ("linear", 0.1 * 16 / 256), ("sqrt", 0.1 / 4)]
)
def test_the_rate_is_written_out(rule: str, lr: float) -> None:
    settings = {k: v for k, v in SMALL.items() if k != "lr"}
    rate = {"projector_hidden_dim": 16, "base_lr": 0.1, "lr_scaling": rule}
    cell = pretrain_cell(**settings | rate)
    assert cell.lr == pytest.approx(lr)


def test_labels_enter_no_id() -> None:
    """The same point by another name, and the same rate by another rule, is the same cell."""
    cell = small_cell("simmoco")
    other = Pretrain.model_validate(cell.model_dump() | {"method": "simo"})
    ruled = small_cell("simmoco", base_lr=0.8, lr_scaling="linear", lr=0.05)
    assert cell.id == other.id == ruled.id


@pytest.mark.parametrize(
    "field", ["knn_k", "knn_tau", "features", "few_shot", "linear", "test_warp"]
)
def test_evaluations_have_ids_of_their_own(field: str) -> None:
    value: dict[str, Any] = {
        "knn_k": 7,
        "knn_tau": 0.5,
        "features": "projector",
        "few_shot": 3,
        "linear": "moco",
        "test_warp": "digits-25",
    }
    cell, other = small_cell(), small_cell(**{field: value[field]})
    assert cell.id != other.id
    assert cell.training_id == other.training_id == other.stack_key
    changed = {n for n in EVALUATIONS if cell.evaluation_id(n) != other.evaluation_id(n)}
    assert changed == {n for n, kind in EVALUATIONS.items() if field in kind.settings}


@pytest.mark.parametrize(
    "change", [{"tau": 0.2}, {"epochs": 3}, {"seed": 1}, {"views": "crop"}, {"held_out": 0.1}]
)
def test_training_has_an_id_of_its_own(change: dict[str, Any]) -> None:
    cell, other = small_cell(), small_cell(**change)
    assert cell.training_id != other.training_id
    assert cell.evaluation_id("knn") != other.evaluation_id("knn")


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "method": (
        {"method": "simclrr"},
        "method 'simclrr' is unknown. Did you mean 'simclr' or 'simco'? `bench methods` lists all "
        f"{len(paper_presets())}.",
    ),
    "alpha without eqco": (
        {"alpha": 3.0},
        "alpha must be set with loss 'eqco', may be set with 'dual-temperature', "
        "and must be left out otherwise; here alpha is given and loss is 'infonce'",
    ),
    "eqco without alpha": (
        {"loss": "eqco"},
        "alpha must be set with loss 'eqco', may be set with 'dual-temperature', "
        "and must be left out otherwise; here alpha is missing and loss is 'eqco'",
    ),
    "more negatives than there are": (
        {"K": 31},
        "K is 31, but a batch of 16 images has only 30 negatives (negative_views 'both')",
    ),
    "more negatives than the queue holds": (
        {"negatives": "queue", "queue_start": "random", "K": 9, "queue_size": 8},
        "K is 9, but the queue holds only 8 keys",
    ),
    "momentum without a momentum encoder": (
        {"momentum": 0.9},
        "momentum must be set with target 'momentum', and left out otherwise; "
        "here momentum is given and target is 'shared'",
    ),
    "no K for a queue": (
        {"negatives": "queue", "queue_start": "random"},
        "K must be set with negatives 'queue'",
    ),
    "N": ({"N": 24}, "N = 24 is not a multiple of batch_size 16"),
    "cached negatives of one batch": (
        {"cached_negatives": True},
        "cached_negatives needs N above batch_size, negatives 'batch', cutmix "
        "false and a norm other than 'bn'",
    ),
    "cached negatives of a queue": (
        {
            "cached_negatives": True,
            "N": 32,
            "negatives": "queue",
            "K": 8,
            "queue_start": "random",
        },
        "cached_negatives needs N above batch_size, negatives 'batch', cutmix "
        "false and a norm other than 'bn'",
    ),
    "more than cached negatives": (
        {"cached_negatives": True, "N": 32, "K": 63},
        "K is 63, but a step of 32 images has only 62 negatives (negative_views 'both')",
    ),
    "shuffling": (
        {"bn": "shuffling"},
        "bn 'shuffling' needs bn_groups of 2 or more and target 'momentum'",
    ),
    "sync": (
        {"bn_groups": 2},
        "bn 'sync' normalises the whole batch at once, so bn_groups must be 1",
    ),
    "groups": (
        {"bn": "plain", "bn_groups": 3},
        "batch_size 16 cannot be divided into 3 equal bn_groups of 2 or more images",
    ),
    "groups of one": (
        {"bn": "plain", "bn_groups": 16, "bn_over": "each-view"},
        "batch_size 16 cannot be divided into 16 equal bn_groups of 2 or more images",
    ),
    "neighbours": (
        {
            "neighbours": "nearest",
            "support_size": 9,
            "negative_views": "keys",
            "target": "stop-gradient",
        },
        "neighbours 'nearest' needs target 'shared', negatives 'batch' and negative_views 'keys'",
    ),
    "nesterov with adam": (
        {"optimizer": "adam", "nesterov": True},
        "nesterov can be true only with optimizer 'sgd' and sgd_momentum above 0",
    ),
    "muon without momentum": (
        {"optimizer": "muon", "sgd_momentum": 0.0},
        "optimizer 'muon' needs a value of sgd_momentum above 0",
    ),
    "a triangle without a rise": (
        {"lr_schedule": "triangular"},
        "lr_schedule 'triangular' needs warmup_epochs of 1 or more, in which the "
        "learning rate rises",
    ),
    "decay from nothing": (
        {"weight_decay": 0.0, "weight_decay_end": 0.1},
        "weight_decay_end needs a weight_decay above 0, from which the decay moves "
        "to this end value",
    ),
    "clipped twice": (
        {"clip_norm": 1.0, "clip_each": 1.0},
        "clip_norm and clip_each cannot be set together; remove one of them",
    ),
    "warm-up": ({"warmup_epochs": 3}, "warmup_epochs = 3 is above epochs = 2"),
    "a rule without a rate": (
        {"lr_scaling": "linear"},
        "base_lr and lr_scaling must be set together; without them, set lr",
    ),
    "momentum schedule": (
        {"momentum_schedule": "cosine"},
        "momentum_schedule 'cosine' needs target 'momentum'",
    ),
    "together": (
        {"target": "momentum", "momentum": 0.9},
        "bn_over 'views-together' cannot be used with target 'momentum' or 'bank', "
        "where queries and keys come from different encoders",
    ),
    "plateau": (
        {"lr_schedule": "plateau", "plateau_patience": 2, "plateau_drops": 1},
        "lr_schedule 'plateau' follows the kNN accuracy of each epoch, so "
        "knn_every_epochs must be 1",
    ),
    "two rates": (
        {"base_lr": 0.1, "lr_scaling": "none"},
        "lr is not the value that base_lr and lr_scaling give; change base_lr, and leave lr out",
    ),
    "linear protocol": (
        {"linear": "mocco"},
        "the linear protocol 'mocco' is unknown. Did you mean 'moco'? Allowed here: ",
    ),
    "no method": ({"method": None}, "the setting method is missing. Allowed methods: "),
    "no loss": (
        {"loss": "dcll"},
        "loss 'dcll' is unknown. Did you mean 'dcl'? Allowed here: ",
    ),
    "a bank without its negatives": (
        {"method": "ring", "negatives": "batch", "negative_views": "keys"},
        "target 'bank' and negatives 'bank' can be used only together",
    ),
    "a bank that nothing is drawn from": (
        {"method": "ring", "drawn": "newest"},
        "negatives 'bank' needs a value of K, and drawn must be one of uniform, "
        "nearest, ball, ring, cave",
    ),
    "a hole as large as the ball": (
        {"method": "ring", "inner_share": 0.1},
        "inner_share 0.1 must be below ball_share 0.1, or the ring is empty",
    ),
    "a hole that never grows": (
        {"method": "ring", "inner_from_epoch": 1},
        "inner_from_epoch and inner_to_epoch must be set together",
    ),
    "a beginning without an end": (
        {"method": "la"},
        "uniform_epochs = 10 is not below epochs = 2",
    ),
    "clusters": (
        {"method": "cave", "clusterings": None},
        "clusterings must be set with drawn 'cave' or neighbours "
        "'k-neighbourhood', and left out otherwise",
    ),
    "neighbours of a loss without room for them": (
        {"method": "ring-s-neigh", "loss": "dclw"},
        "neighbours 's-neighbourhood' needs negatives 'bank' and one of these "
        "losses: infonce, eqco, dcl, la",
    ),
    "half a dictionary": (
        {"K_scalar": 3},
        "K_scalar, scalar_size and scalar_drawn must be set together",
    ),
    "a loss of similarities without any": (
        {"method": "byol", "loss": "dcl", "tau": 0.1},
        "loss 'dcl' needs norm 'l2', and negatives 'batch', 'queue' or 'bank'",
    ),
    "features of half a batch": (
        {"method": "barlow-twins-l2", "symmetric": False},
        "loss 'gradient' compares the whole batch, so it needs symmetric true, K "
        "null and negative_views 'keys'",
    ),
    "a gradient's set": (
        {"method": "unigrad-gradient", "negative_gradient": "target"},
        "negative_branch 'online' needs negatives 'batch' or 'previous', a target "
        "other than 'stop-gradient' (which is the online branch already), "
        "negative_gradient null, 'softmax' or 'online', symmetric true, cutmix "
        "false and predictor_layers 0",
    ),
    "a mixture of gradients": (
        {"cutmix": True},
        "cutmix mixes positives, so it needs symmetric true, target 'momentum' and "
        "one of these losses: cosine, directpred, unigrad, gradient",
    ),
    "local views larger than global ones": (
        {"method": "unigrad", "views": "multi-crop", "local_size": 9},
        "local_size 9 is above image_size 8",
    ),
    "Lab without a bank": (
        {"colour": "lab"},
        "colour 'lab' needs target 'bank' and predictor_layers 0",
    ),
    "eigenspaces of no matrix": (
        {"method": "byol", "eigenspaces": True, "knn_every_epochs": 1},
        "eigenspaces needs a linear predictor: predictor_layers must be 1 and "
        "predictor_bn not 'all'",
    ),
    "nothing to watch": (
        {"watch": "nn"},
        "components, eigenspaces and watch take effect only during evaluations in "
        "training, so knn_every_epochs must be above 0",
    ),
    "q_B without a temperature": (
        {"method": "barlow-twins", "q_b_limit": 0.1},
        "q_b_limit needs a value of tau, which q_B depends on, and a target other than 'own', "
        "which compares no queries with keys",
    ),
    "weights": (
        {"method": "barlow-twins", "weights_K": 3},
        "weights_K needs a value of tau, colour 'rgb', witness 'dot' and norm 'l2'",
    ),
    "annealed at every step": (
        {"method": "ball", "anneal_every": "step"},
        "anneal_every 'step' needs a value of anneal_epochs or inner_to_epoch",
    ),
    "a small AlexNet of small images": (
        {"arch": "small-alexnet", "stem": "cifar", "image_size": 8},
        "arch 'small-alexnet' needs stem 'cifar', image_size of 15 or more, zero_init_residual "
        "false and views of one size",
    ),
    "a rate of biases alone": (
        {"lr_bias": 0.1},
        "lr_bias needs exempt true or optimizer 'muon', which treat biases and BN separately",
    ),
    "two rates of biases": (
        {"lr_bias": 0.1, "base_lr_bias": 0.2, "exempt": True},
        "lr_bias is not the value that base_lr_bias and lr_scaling give; change "
        "base_lr_bias, and leave lr_bias out",
    ),
    "kappa unknown": (
        {"method": "ir-literal", "kappa": None},
        "kappa may be null only with normaliser 'constant' and negatives 'bank', "
        "where kappa is estimated",
    ),
    "own entry where it ranks": (
        {"method": "la", "centre": "entry", "uniform_epochs": 0},
        "own_entry 'if-near' needs normaliser 'constant', drawn 'nearest', centre 'view', and "
        "neighbours 'k-neighbourhood' with neighbour_count null and neighbour_sum 'inside'",
    ),
    "hidden layer": (
        {"projector_layers": 3, "projector_bn": None},
        "projector_bn must be set, because projector_layers is 3",
    ),
}


@pytest.mark.parametrize(("changes", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told(changes: dict[str, Any], told: str) -> None:
    sizes = sizes_of(changes["method"]) if changes.get("method") in paper_presets() else {}
    kept = {k: v for k, v in sizes.items() if k not in ("uniform_epochs", "ball_share")}
    kept.pop("inner_share", None)
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # its whole text is compared
        pretrain_cell(**SMALL | {"projector_hidden_dim": 16} | kept | changes)
    found = str(caught.value)
    if isinstance(caught.value, ValidationError):
        (error,) = caught.value.errors()
        found = error["msg"].removeprefix("Value error, ")
    assert found == told or (told.endswith(": ") and found.startswith(told))


VALUES: dict[str, Any] = {
    "weight": "exp", "form": "printed", "queue_start": "empty", "lr_drop_epochs": "1",
    "bank_normalised": True, "centre": "entry", "neighbour_sum": "inside", "through_weight": True,
    "normaliser": "sampled", "own_entry": "always", "positive_gradient": "target",
    "negative_gradient": "online", "half_power": True, "bank_rate": 0.5, "momentum": 0.5,
    "rho": 0.5, "eps": 0.1, "bank_start": "uniform",
}  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "rules"),
    [(small_cell(), BELONGS), (small_cell("unigrad-gradient"), WITH_GRADIENT)],
    ids=["infonce", "gradient"],
)
def test_every_conditional_field_is_refused_where_it_has_no_meaning(
    cell: Pretrain, rules: dict[str, Belongs]
) -> None:
    without = [name for name, rule in rules.items() if not rule.has_meaning(dict(cell))]
    assert len(without) > len(rules) / 2
    for name in without:
        with pytest.raises(ValidationError, match=re.escape(rules[name].message(name))):
            small_cell(cell.method, **{name: VALUES.get(name, 1)})


def test_the_mode_of_q_b_is_as_sure_as_a_bin_is_wide() -> None:
    """Seeds with one mode say that it lies in a bin of the histogram."""
    assert small_cell().step_of("q_b_mode") == 0.05
