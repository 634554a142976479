"""Settings of suites and presets that were once another paper's, as they have to be."""

from functools import cache

import pytest

from bench.cells.pretrain import Pretrain
from bench.suites.expand import expand
from bench.suites.load import load_suite
from bench.suites.presets import paper_presets
from tests.fakes.paths import SUITES


@cache
def cells(name: str, scale: str = "paper") -> list[Pretrain]:
    path = SUITES / f"{name}.yaml"
    return [c for c in expand(load_suite(path), scale, path) if isinstance(c, Pretrain)]


def test_eqcos_simclr_has_simclrs_recipe_with_sgd() -> None:
    """EqCo, Sec. 2.3; arXiv:2002.05709, Sec. 2.1: 0.3 N / 256 after ten epochs of warm-up."""
    found = [c for c in cells("eqco-figure-2") if c.method == "simclr"]
    assert len(found) == 9
    for cell in found:
        assert cell.lr == pytest.approx(0.3 * cell.N / 256)
        assert (cell.warmup_epochs, cell.optimizer, cell.linear) == (10, "sgd", "simclr")
        assert (cell.lr_schedule, cell.weight_decay, cell.exempt) == ("cosine", 1e-6, True)


def test_simclrs_own_numbers_stand_beside_its_own_optimiser() -> None:
    for cell in cells("eqco-simclr-batch"):
        assert cell.lr == pytest.approx(0.3 * cell.batch_size / 256)
        assert (cell.warmup_epochs, cell.optimizer, cell.linear) == (10, "lars", "simclr")


@pytest.mark.parametrize(
    ("suite", "drops"),
    [("eqco-figure-2", "120,160"), ("dcl-figure-3b", "120,160"), ("dcl-table-12", "144,192")],
)
def test_moco_drops_its_rate_and_moco_v2_has_a_cosine(suite: str, drops: str) -> None:
    """arXiv:1911.05722: at 60 and 80 % of the epochs."""
    for cell in cells(suite):
        if cell.method == "moco":
            assert (cell.lr_schedule, cell.lr_drop_epochs) == ("step", drops)
        if cell.method == "moco-v2":
            assert (cell.lr_schedule, cell.lr_drop_epochs) == ("cosine", None)


def test_dual_temperature_keeps_its_ratio_of_temperatures() -> None:
    """Released code: tau_beta = dt_m tau, dt_m 10."""
    for scale in ("paper", "cpu", "smoke"):
        for cell in cells("dual-temperature-remarks", scale):
            expected = None if cell.method == "moco-v2" else pytest.approx(10 * (cell.tau or 0))
            assert cell.tau_beta == expected
    grid = cells("dual-temperature-remarks")
    assert len({(c.method, c.negative_views, c.tau) for c in grid}) == 24


@pytest.mark.parametrize("which", ["main-figure-2", "figure-1", "figure-2", "table-1", "remarks"])
def test_dual_temperature_has_the_released_scripts_settings(which: str) -> None:
    for cell in cells(f"dual-temperature-{which}"):
        assert (cell.base_lr, cell.projector_hidden_dim, cell.views) == (0.03, 128, "simclr-cifar")
        assert cell.momentum == (None if cell.method == "simco" else 0.99)
        assert cell.online_linear, "the accuracy that the released code reports"


def test_simco_averages_both_directions() -> None:
    presets = paper_presets()
    assert presets["simco"].settings["symmetric"] is True
    assert presets["simmoco"].settings["symmetric"] is False


@pytest.mark.parametrize("which", ["table-1", "table-2", "table-3", "table-9", "figure-4"])
def test_dcl_has_openselfsups_numbers_on_imagenet_and_clds_elsewhere(which: str) -> None:
    """configs/selfsup/simclr/r50_bs256_ep200.py: weight decay 1e-6, ten epochs of warm-up."""
    for cell in cells(f"dcl-{which}"):
        on_imagenet = cell.dataset in ("imagenet1k", "imagenet100")
        expected = (1e-6, 10) if on_imagenet else (5e-4, 5)
        assert (cell.weight_decay, cell.warmup_epochs) == expected


@pytest.mark.parametrize("which", ["table-1", "table-2", "table-3", "table-9", "remarks"])
def test_dcl_has_both_rates_on_imagenet_where_none_is_stated(which: str) -> None:
    """DCL, Sec. 4.1 and Table 3: stated are 0.03 on small data sets and 0.07 at temperature 0.2."""
    rates: dict[tuple[object, ...], set[float | None]] = {}
    for cell in cells(f"dcl-{which}"):
        if cell.dataset in ("imagenet1k", "imagenet100") and cell.tau == 0.1:
            unlike = cell.dataset, cell.loss, cell.weight, cell.batch_size, cell.epochs, cell.linear
            rates.setdefault(unlike, set()).add(cell.base_lr)
    assert rates
    assert all(found == {0.3, 0.03} for found in rates.values()), rates


def test_cifar_has_no_batch_of_1024() -> None:
    """DCL, Table 1: 32 to 512 but for ImageNet."""
    for scale in ("paper", "gpu"):
        sizes = {c.batch_size for c in cells("dcl-table-1", scale) if c.dataset == "cifar10"}
        assert sizes == {32, 64, 128, 256, 512}


def test_directpred_takes_f_from_the_online_branch_in_both_forms() -> None:
    """unigrad, Sec. 3.2: of v^o; the released code takes momentum outputs."""
    branch = {name: preset.settings.get("negative_branch") for name, preset in _UNIGRAD.items()}
    assert branch == {
        "directpred": "online",
        "byol-directpred": "online",
        "directpred-released": "target",
        "simclr-momentum": "target",
    }


def test_hypersphere_has_its_encoder_and_its_queue() -> None:
    """DCL, App. 5: encoder and hyperparameters are Hypersphere's."""
    for which in ("table-11", "table-15"):
        assert {(c.arch, c.linear) for c in cells(f"dcl-{which}")} == {
            ("small-alexnet", "hypersphere")
        }
    for which, method in (("table-12", "moco"), ("table-13", "moco-v2"), ("table-14", "moco-v2")):
        (own,) = [c for c in cells(f"dcl-{which}") if c.loss == "align-uniform" and c.seed == 0]
        assert (own.negatives, own.K) == ("queue", 65536 if which == "table-14" else 16384)
        preset = paper_presets()[f"{method}-hypersphere"].settings
        assert all(getattr(own, n) == v for n, v in preset.items() if n not in ("K", "views"))


def test_biases_have_the_rate_that_unigrad_states() -> None:
    """unigrad, App. B, 800 epochs: 0.3 for weights, 0.05 for biases and BN, at 256."""
    for cell in cells("unigrad-table-5"):
        assert cell.lr == pytest.approx(4.8)
        assert cell.lr_bias == pytest.approx(0.8)


def test_published_scales_have_three_seeds_or_are_imagenets() -> None:
    for path in sorted(SUITES.glob("*.yaml")):
        suite = load_suite(path)
        for name, scale in suite.scales.items():
            found = expand(suite, name, path) if scale.protocol == "published" else []
            if len({c.seed for c in found}) == 1:
                sets = {getattr(c, "dataset", None) for c in found}
                assert sets & {"imagenet1k", "imagenet100"}, (suite.name, name)


_UNIGRAD = {
    name: paper_presets()[name]
    for name in ("directpred", "byol-directpred", "directpred-released", "simclr-momentum")
}


def test_la_on_imagenet_has_the_clusters_of_the_named_code() -> None:
    """mutual-information, App. C.3: config/imagenet_la.json; 300000 is printed."""
    clusters = {c.method: c.clusters for c in cells("mutual-information-table-2a")}
    assert (clusters["la"], clusters["la-printed"], clusters["cave"]) == (30000, 300000, 30000)


@pytest.mark.parametrize(
    "name",
    ["dcl-table-1", "dcl-table-2", "dcl-table-3", "dcl-table-4", "dcl-table-6", "dcl-table-9",
     "dcl-table-14", "dcl-table-18", "dcl-remarks", "eqco-figure-2", "eqco-simclr-batch"],
)  # fmt: skip
def test_simclrs_head_has_bn_on_its_output_where_the_code_of_the_paper_has_it(name: str) -> None:
    """OpenSelfSup and SelfSup train on ImageNet with it; leftthomas/SimCLR has none."""
    found = [cell for cell in cells(name) if cell.method == "simclr"]
    assert found
    for cell in found:
        on_imagenet = cell.dataset in ("imagenet1k", "imagenet100")
        assert cell.projector_bn == ("all" if on_imagenet else "hidden")


@pytest.mark.parametrize("scale", ["paper", "gpu"])
def test_banks_have_the_released_codes_start_and_decay(scale: str) -> None:
    """LocalAggregation-Pytorch: neither is stated; what was measured has neither."""
    for cell in cells("mutual-information-table-1", scale):
        assert (cell.bank_start, cell.exempt) == ("uniform", True)
        assert (cell.batch_size, cell.lr_schedule) == (
            128 if cell.colour == "lab" else 256,
            "plateau",
        )
    for cell in cells("mutual-information-table-1", "cifar"):
        assert (cell.bank_start, cell.exempt) == (None, False)


def test_what_the_banks_code_does_unlike_the_text_is_a_preset() -> None:
    for name in ("ir", "la", "cmc"):
        released, printed = (paper_presets()[n].settings for n in (f"{name}-released", name))
        changed = {k: v for k, v in released.items() if printed.get(k) != v}
        assert changed == {"batch_size": 128, "lr_schedule": "step", "lr_drop_epochs": "160,190"}


@pytest.mark.parametrize("scale", ["paper", "gpu"])
def test_vicreg_and_row_i_have_weights_in_units_of_the_dimension(scale: str) -> None:
    of_table_8 = [c for c in cells("dcl-table-8", scale) if c.loss == "vicreg"]
    assert of_table_8
    for cell in of_table_8:
        assert cell.var_weight == cell.feature_dim
        assert cell.cov_weight == pytest.approx(0.08 * cell.feature_dim)
    row_i = [c for c in cells("unigrad-table-2", scale) if c.negative_gradient == "variance"]
    assert {c.var_weight for c in row_i} == {2048}
