"""The cell of `pretrain`: presets fill it, rules keep it sound, ids say what results depend on."""

from typing import Any, get_args

import pytest
from pydantic import ValidationError

from bench.config.agreement import BELONGS
from bench.config.coordinates import EVALUATIONS, ViewSet
from bench.config.presets import presets
from bench.config.pretrain import Pretrain
from bench.data.views import view_names
from tests.pretraining import METHODS, SMALL, small_cell


@pytest.mark.parametrize("method", METHODS)
def test_every_coordinate_of_a_preset_is_a_field_with_a_source(method: str) -> None:
    for name, coordinate in presets()[method].coordinates.items():
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


def test_a_loss_brings_its_own_options() -> None:
    cell = small_cell(loss="dclw")
    assert (cell.weight, cell.sigma, cell.through_weight) == ("vmf", 0.5, False)


@pytest.mark.parametrize(
    ("rule", "lr"), [("none", 0.1), ("linear", 0.1 * 16 / 256), ("sqrt", 0.1 / 4)]
)
def test_the_rate_is_written_out(rule: str, lr: float) -> None:
    settings = {k: v for k, v in SMALL.items() if k != "lr"}
    cell = Pretrain.model_validate(
        settings | {"projector_hidden_dim": 16, "base_lr": 0.1, "lr_scaling": rule}
    )
    assert cell.lr == pytest.approx(lr)


def test_labels_enter_no_id() -> None:
    """The same point by another name, and the same rate by another rule, is the same cell."""
    cell = small_cell("simmoco")
    other = Pretrain.model_validate(cell.model_dump() | {"method": "simo"})
    ruled = small_cell("simmoco", base_lr=0.8, lr_scaling="linear", lr=0.05)
    assert cell.id == other.id == ruled.id


@pytest.mark.parametrize("field", ["knn_k", "knn_tau", "features", "few_shot", "linear"])
def test_evaluations_have_ids_of_their_own(field: str) -> None:
    value: dict[str, Any] = {
        "knn_k": 7,
        "knn_tau": 0.5,
        "features": "projector",
        "few_shot": 3,
        "linear": "moco",
    }
    cell, other = small_cell(), small_cell(**{field: value[field]})
    assert cell.id != other.id
    assert cell.training_id == other.training_id == other.stack_key
    changed = {n for n in EVALUATIONS if cell.evaluation_id(n) != other.evaluation_id(n)}
    assert changed == {n for n, fields in EVALUATIONS.items() if field in fields}


@pytest.mark.parametrize("change", [{"tau": 0.2}, {"epochs": 3}, {"seed": 1}, {"views": "crop"}])
def test_training_has_an_id_of_its_own(change: dict[str, Any]) -> None:
    cell, other = small_cell(), small_cell(**change)
    assert cell.training_id != other.training_id
    assert cell.evaluation_id("knn") != other.evaluation_id("knn")


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "method": (
        {"method": "simclrr"},
        "method 'simclrr' is unknown. Did you mean 'simclr'? Allowed here: ",
    ),
    "alpha without eqco": (
        {"alpha": 3.0},
        "alpha is needed with loss 'eqco', allowed with 'dual-temperature' and has no meaning "
        "with others",
    ),
    "eqco without alpha": (
        {"loss": "eqco"},
        "alpha is needed with loss 'eqco', allowed with 'dual-temperature' and has no meaning "
        "with others",
    ),
    "more negatives than there are": (
        {"K": 31},
        "K = 31 negatives, but a batch of 16 images has 30 (negative_views 'both')",
    ),
    "more negatives than the queue holds": (
        {"negatives": "queue", "queue_start": "random", "K": 9, "queue_size": 8},
        "K = 9 negatives, but the queue holds 8",
    ),
    "momentum without a momentum encoder": (
        {"momentum": 0.9},
        "momentum is needed with target 'momentum' and with nothing else",
    ),
    "no K for a queue": (
        {"negatives": "queue", "queue_start": "random"},
        "K is needed with negatives 'queue'",
    ),
    "N": ({"N": 24}, "N = 24 is no multiple of batch_size 16"),
    "shuffling": (
        {"bn": "shuffling"},
        "bn 'shuffling' needs bn_groups of 2 or more and target 'momentum'",
    ),
    "sync": (
        {"bn_groups": 2},
        "bn 'sync' normalises a batch as a whole: bn_groups must be 1",
    ),
    "groups": (
        {"bn": "plain", "bn_groups": 3},
        "batch_size 16 does not divide into 3 bn_groups of 2 or more",
    ),
    "groups of one": (
        {"bn": "plain", "bn_groups": 16, "bn_over": "each-view"},
        "batch_size 16 does not divide into 16 bn_groups of 2 or more",
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
    "warm-up": ({"warmup_epochs": 3}, "warmup_epochs 3: there are 2 epochs"),
    "a rule without a rate": (
        {"lr_scaling": "linear"},
        "base_lr and lr_scaling belong together; without them give lr",
    ),
    "momentum schedule": (
        {"momentum_schedule": "cosine"},
        "momentum_schedule 'cosine' needs target 'momentum'",
    ),
    "together": (
        {"target": "momentum", "momentum": 0.9},
        "bn_over 'views-together' needs queries and keys of one encoder",
    ),
    "plateau": (
        {"lr_schedule": "plateau", "plateau_patience": 2, "plateau_drops": 1},
        "lr_schedule 'plateau' watches kNN: knn_every_epochs must be 1",
    ),
    "two rates": (
        {"base_lr": 0.1, "lr_scaling": "none"},
        "lr and base_lr disagree; keep one of them",
    ),
    "linear protocol": (
        {"linear": "mocco"},
        "linear 'mocco' is unknown. Did you mean 'moco'? Allowed here: ",
    ),
    "hidden layer": (
        {"projector_layers": 3, "projector_bn": None},
        "projector_bn is needed with 3 projector_layers",
    ),
}


@pytest.mark.parametrize(("changes", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Pretrain.model_validate(SMALL | {"projector_hidden_dim": 16} | changes)
    (error,) = caught.value.errors()
    found = error["msg"].removeprefix("Value error, ")
    assert found == told or (told.endswith(": ") and found.startswith(told))


def test_every_conditional_field_is_refused_where_it_has_no_meaning() -> None:
    plain = small_cell(loss="infonce")
    for name in BELONGS:
        if getattr(plain, name) is None and name != "negative_views":
            kind: dict[str, Any] = {"weight": "exp", "form": "printed", "queue_start": "empty"}
            value = kind.get(name, "1" if name == "lr_drop_epochs" else 1)
            with pytest.raises(ValidationError):
                small_cell(loss="infonce", **{name: value})
