"""What paper and released code have of a preset's settings, in its file and on record."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from bench.errors import PublishedError, SuiteError
from bench.losses.siamese import vicreg
from bench.suites.presets import (
    Coordinate,
    Preset,
    departs,
    filled,
    load_presets,
    paper_presets,
    read_coordinate,
    stated_of,
)

PRESETS = paper_presets()


def test_a_pair_is_what_the_paper_has() -> None:
    assert read_coordinate("tau", [0.1, "DCL"], "") == Coordinate(0.1, "DCL", {"paper": 0.1})
    assert read_coordinate("tau", [None, "none"], "") == Coordinate(None, "none", {})


def test_a_mapping_says_what_paper_and_code_have() -> None:
    written = {"ours": 0.1, "source": "S", "paper": 0.2, "code": [0.1, 0.3], "why": "W"}
    stated = {"paper": 0.2, "code": [0.1, 0.3]}
    assert read_coordinate("tau", written, "") == Coordinate(0.1, "S", stated, "W")
    assert read_coordinate("tau", {"ours": 0.1, "source": "S"}, "") == Coordinate(0.1, "S")


@pytest.mark.parametrize(
    ("ours", "stated", "differs"),
    [
        (0.1, 0.1, False),
        (0.1, 0.2, True),
        (0.1, [0.2, 0.1], False),
        (None, 0.1, True),
        (None, None, False),
        (0.1, None, True),
        (None, "not used", False),
    ],
)
def test_a_value_departs_where_it_is_none_of_those_stated(
    ours: Any, stated: Any, differs: bool
) -> None:
    assert departs(ours, stated) is differs


def test_a_value_in_units_of_another_setting_is_its_product() -> None:
    written = {"ours": "0.08 feature_dim", "source": "S", "paper": 0.08, "why": "W"}
    cov_weight = read_coordinate("cov_weight", written, "")
    known = {"own": Preset("x", {"cov_weight": cov_weight, "loss": Coordinate("vicreg", "S")})}
    cell = filled({"method": "own", "feature_dim": 64}, known)
    assert cell["cov_weight"] == 5.12
    assert filled({"method": "own", "feature_dim": 64, "cov_weight": 2.0}, known)["cov_weight"] == 2
    with pytest.raises(ValueError, match=r"^the value '0.08 feature_dim' needs feature_dim to be"):
        filled({"method": "own"}, known)


def test_released_weights_of_vicreg_are_those_of_a_mean_over_dimensions() -> None:
    """25 mse + 25 variance + covariance of both views, as VICReg's code has them, times D/25."""
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 16, 8, generator=generator, dtype=torch.float64) / 2
    d, weights = 8, filled({"method": "vicreg-released", "feature_dim": 8}, PRESETS)
    ours = {name: weights[name] for name in ("cov_weight", "var_weight", "gamma")}
    variance = sum(torch.relu(1 - x.std(dim=0)).mean() / 2 for x in (a, b))
    covariance = sum((x.T.cov() - x.T.cov().diagonal().diag()).square().sum() / d for x in (a, b))
    released = 25 * torch.nn.functional.mse_loss(a, b) + 25 * variance + covariance
    found = (vicreg(a, b, **ours) + vicreg(b, a, **ours)).mean() / 2
    assert_close(found, released * d / 25)


MISTAKES: dict[str, tuple[Any, str]] = {
    "of another setting": (
        {"ours": "small feature_dim", "source": "S"},
        "f.ours: found 'small feature_dim': Input should be a valid number",
    ),
    "times no setting": (
        {"ours": "2 width_of_it", "source": "S"},
        "f.ours: found '2 width_of_it': Input should be a valid number",
    ),
    "a factor out of range": (
        {"ours": "-2 feature_dim", "source": "S"},
        "f.ours: found '-2 feature_dim': Input should be greater than 0",
    ),
    "no reason": (
        {"ours": 0.1, "source": "S", "code": 0.2},
        "f: our value differs from the value of the code, so the key 'why' must give the reason",
    ),
    "nothing to explain": (
        {"ours": 0.1, "source": "S", "code": 0.1, "why": "W"},
        "f.why: our value equals the stated value, so leave 'why' out",
    ),
    "no source": ({"ours": 0.1}, "f: source is missing."),
    "source no text": ({"ours": 0.1, "source": 3}, "f.source: found 3, expected text"),
    "unknown key": (
        {"ours": 0.1, "source": "S", "papr": 0.1},
        "f: unknown key. Did you mean 'paper'? Allowed here: ours, source, paper, code, why.",
    ),
    "no such value": (
        {"ours": 0.1, "source": "S", "paper": "small", "why": "W"},
        "f.paper: found 'small': Input should be a valid number",
    ),
    "one of a list": (
        {"ours": 0.1, "source": "S", "code": [0.1, "small"]},
        "f.code: found 'small': Input should be a valid number",
    ),
    "no pair": (0.1, "f: found 0.1, expected [value, source]"),
}


@pytest.mark.parametrize(("written", "told"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_in_one_line(written: Any, told: str) -> None:
    with pytest.raises(SuiteError) as caught:
        read_coordinate("tau", written, "f")
    assert str(caught.value) == told


def test_code_and_choices_of_ours_never_stand_as_the_papers() -> None:
    """A pair says that the paper has the value; such words in its source say something else."""
    words = ("not stated", "released", " code", "-code", "no ", "none")
    found = [
        (label, name, coordinate.source)
        for label, preset in PRESETS.items()
        for name, coordinate in preset.coordinates.items()
        if coordinate.stated == {"paper": coordinate.value} and coordinate.why is None
        if coordinate.source.startswith(words[4:]) or any(w in coordinate.source for w in words[:4])
    ]
    byols = (
        "not stated in UniGrad's paper; we use the value of BYOL's paper "
        "(arXiv:2006.07733, Sec. 3.2)"
    )
    assert {(name, source) for _, name, source in found} == {
        ("predictor_layers", byols),
        ("predictor_hidden_dim", byols),
        (
            "gamma",
            "gamma is not stated in UniGrad's paper; we use the value of VICReg's paper "
            "(arXiv:2105.04906, Sec. 4.1)",
        ),
        (
            "uniform_epochs",
            "mutual-information, App. C.2 (ImageNet): training starts with 10 epochs of IR; "
            "a start with IR is not stated for CIFAR-10",
        ),
    }


def test_presets_say_what_is_on_record() -> None:
    """What a file says of paper or code agrees with the facts on record that it names."""
    for label, preset in PRESETS.items():
        silent = {name: c._replace(stated={}) for name, c in preset.coordinates.items()}
        facts = stated_of(label, preset._replace(coordinates=silent))
        assert any(facts.values()) == bool(preset.recorded), label
        for name, by_whom in facts.items():
            for who, value in by_whom.items():
                stated = preset.coordinates[name].stated
                assert who not in stated or not departs(stated[who], value), (label, name, who)


def test_the_records_fill_in_what_a_file_does_not_say() -> None:
    assert PRESETS["unigrad"].coordinates["balance"].stated == {"paper": 100.0}
    assert stated_of("unigrad", PRESETS["unigrad"])["balance"] == {"paper": 100.0, "code": 100.0}
    assert stated_of("unigrad-gradient", PRESETS["unigrad-gradient"]).keys() == {
        "loss", "positive_gradient", "negative_gradient",
    }  # fmt: skip


def test_records_that_do_not_exist_are_told() -> None:
    own = Preset("x", {}, recorded=("unigrad",))
    with pytest.raises(SuiteError, match=r"^own.recorded: found 'unigrad', expected 'paper/pro"):
        stated_of("own", own)
    with pytest.raises(PublishedError, match="paper 'dcl' has no protocol 'simclr'"):
        stated_of("own", own._replace(recorded=("dcl/simclr",)))


@pytest.mark.parametrize(
    ("label", "setting", "ours", "stated"),
    [
        ("ir", "normaliser", "constant", {"paper": "sampled", "code": "constant"}),
        ("la-printed", "clusters", 300000, {"paper": 300000, "code": 30000}),
        ("simmoco", "momentum", 0.99, {"code": 0.99}),
        ("simmoco", "projector_hidden_dim", 128, {"code": 128}),
        ("simmoco", "tau_beta", 1.0, {"code": 1.0}),
        ("simco", "symmetric", True, {"code": True}),
        ("directpred", "negative_branch", "online", {"paper": "online", "code": "target"}),
        ("vicreg", "var_weight", 1.0, {"paper": 2.0, "code": "1 feature_dim"}),
        (
            "vicreg-released",
            "cov_weight",
            "0.08 feature_dim",
            {"paper": 0.08, "code": "0.08 feature_dim"},
        ),
    ],
)
def test_what_is_known_to_differ_is_said(
    label: str, setting: str, ours: Any, stated: dict[str, Any]
) -> None:
    coordinate = PRESETS[label].coordinates[setting]
    assert (coordinate.value, coordinate.stated) == (ours, stated)


def test_a_preset_names_its_own_settings_alone(tmp_path: Path) -> None:
    (tmp_path / "methods").mkdir()
    text = "own: {what: x, like: ring, coordinates: {loss: [dcl, me]}}"
    (tmp_path / "methods" / "own.yaml").write_text(text)
    own = load_presets(tmp_path)["own"]
    assert (own.named, own.recorded) == (("loss",), ())
