"""GPUs on which nothing has run: a model, labelled as one."""

import pytest

from bench.cells.costs import Network
from bench.errors import LaunchError
from bench.estimate.devices import SPAN, check_device, device_named, devices


def test_a_driver_s_and_a_user_s_names_are_known() -> None:
    for text in ("h100", "H100", "NVIDIA H100 80GB HBM3", "NVIDIA H100-SXM"):
        assert device_named(text) is devices()["h100"]
    assert device_named("rtx-4090") is device_named("NVIDIA GeForce RTX 4090")
    assert device_named("NVIDIA A10") is devices()["a10"]  # not the A100
    assert device_named("Abacus") is None
    assert device_named("") is None


def test_another_name_is_answered_by_the_table() -> None:
    with pytest.raises(LaunchError) as error:
        check_device("h10")
    assert str(error.value) == (
        "--on h10: no such GPU in the table. Did you mean 'h100'? Allowed here: v100, t4, a10, l4, "
        "rtx-3090, rtx-4090, a100, h100, h200."
    )


def test_the_published_training_takes_its_time() -> None:
    """32.3 PFLOP in half precision take 7 minutes on an A100, the steps' share beside it."""
    terms = {"multiply-adds resnet18/cifar bf16": 32.3e15 / 2}
    assert devices()["a100"].seconds(terms) == pytest.approx(420)
    assert devices()["a100"].seconds(terms | {"steps": 1000.0}) == pytest.approx(427)
    assert devices()["h100"].seconds(terms) == pytest.approx(420 * 312 / 989.4)


def test_memory_or_files_may_be_what_takes_the_time() -> None:
    wide, narrow = (Network("resnet18", "cifar", width, 32).forward(1e6) for width in (64, 4))
    h100 = devices()["h100"]
    products = [v for k, v in narrow.items() if k.startswith("multiply-adds")]
    assert h100.seconds(narrow) > 2 * products[0] / (h100.reached * h100.operations_s["float32"])
    assert h100.seconds(wide) > h100.seconds(narrow)
    assert h100.seconds({"images from files": 1e6}) == pytest.approx(460)


def test_the_label_says_that_it_is_a_model() -> None:
    assert devices()["h100"].in_words == f"an H100, within a factor {SPAN:g}"
    assert devices()["v100"].in_words.startswith("a V100")
