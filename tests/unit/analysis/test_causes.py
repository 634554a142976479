"""What of two provenances may explain other numbers: the processor's model, where it is known."""

from typing import Any

import pytest

from bench.analysis.drift import MODEL, only_model, other_versions, same_model
from bench.cli.compare import print_drift

OLD = {"machine.processor": "AMD EPYC", "packages.torch": "2.6.0"}
ZEN3, ZEN4 = (
    OLD | {MODEL: f"family 25 model {model} stepping 1", "machine.cpu_capability": simd}
    for model, simd in ((1, "AVX2"), (17, "AVX512"))
)


def test_a_model_that_one_side_lacks_is_unknown_and_no_difference() -> None:
    assert (other_versions(OLD, ZEN4), same_model(OLD, ZEN4)) == ({}, False)
    assert (other_versions(OLD, OLD), same_model(OLD, OLD)) == ({}, False)
    assert (other_versions(ZEN4, ZEN4), same_model(ZEN4, ZEN4)) == ({}, True)
    assert other_versions(OLD, OLD | {"packages.faiss-cpu": "1.9", "cuda.driver": "550.1"}) == {}


def test_another_model_is_a_difference() -> None:
    versions = other_versions(ZEN3, ZEN4)
    assert versions == {
        MODEL: ["family 25 model 1 stepping 1", "family 25 model 17 stepping 1"],
        "machine.cpu_capability": ["AVX2", "AVX512"],
    }
    assert only_model(versions)
    assert not same_model(ZEN3, ZEN4)
    assert not only_model({})
    assert not only_model(versions | {"packages.torchvision": ["0.24", "0.25"]})
    assert not only_model(versions | {"packages.torch": ["2.6.0", "2.7.0"]})


def test_the_model_that_trained_an_encoder_counts() -> None:
    here, there = ({f"trained.{k}": v for k, v in side.items()} for side in (ZEN3, OLD))
    assert not same_model(ZEN4 | here, ZEN4 | there)
    assert same_model(ZEN4 | here, ZEN4 | here)
    assert only_model(
        other_versions(ZEN4 | here, ZEN4 | {f"trained.{k}": v for k, v in ZEN4.items()})
    )


@pytest.mark.parametrize(
    ("here", "there", "told"),
    [
        (OLD, ZEN4, "for 1 of the 1 cells with different results, at least one folder "
            "does not record the processor's model: processors with the same name can "
            "compute different results, which may be the reason\n"),
        (ZEN3, ZEN4, "1 cell gave different results on processors that differ only in "
            "model or vector instructions: processors with "
            "the same name can compute different results, which may be "
            "the reason\n"),
        (ZEN4, ZEN4, ""),
    ],
)  # fmt: skip
def test_compare_names_the_processor_where_it_may_be_the_reason(
    here: dict[str, str], there: dict[str, str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cell: dict[str, Any] = {"id": "a" * 16, "experiment": "identity", "metrics": {"x": [1.0, 2.0]}}
    cell |= {"versions": other_versions(here, there), "same_model": same_model(here, there)}
    print_drift(
        {"same": 0, "moved": [cell], "only_here": 0, "only_there": 0, "metrics": [], "groups": []}
    )
    out = capsys.readouterr().out
    accused = "either the results were edited or the computation is not deterministic" in out
    assert accused == (not cell["versions"])
    assert out.endswith(told)
    assert ("processors with the same name" in out) == bool(told)
