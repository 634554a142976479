"""The map of an encoder: it is `pretrain`'s own encoder, trained once, and nothing of it moves."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from bench.cells.pretrain import TSNE, EncoderCell, Pretrain
from bench.errors import DataFailure
from bench.experiments import EXPERIMENTS, Outcome, Result
from bench.experiments.encoder_folder import TrainedFolder
from bench.results.store import Store
from tests.fakes.cells import small_cell

TRAINED = small_cell()


def map_of(trained: Pretrain = TRAINED, **changes: Any) -> TSNE:
    own = trained.model_dump(exclude={"experiment", "version"})
    sizes: dict[str, Any] = {"images": 40, "perplexity": 5.0}
    return TSNE.model_validate(own | {"experiment": "tsne"} | sizes | changes)


def run(root: Path, cell: EncoderCell) -> Outcome:
    folders = Store(root).folders([cell], root / "sets")
    (outcome,) = EXPERIMENTS[cell.experiment]([cell], folders, "cpu")
    return outcome


def map_arrays(result: Result) -> tuple[Any, Any]:
    return result.arrays["tsne"], result.arrays["label"]


def test_it_shares_the_training_and_not_the_id() -> None:
    cell = map_of()
    assert cell.training_id == cell.stack_key == TRAINED.training_id
    assert cell.trained == TRAINED
    assert len({cell.id, TRAINED.id, map_of(images=41).id, map_of(perplexity=6.0).id}) == 4
    assert cell.training_work == TRAINED.training_work > 0
    assert map_of(small_cell(lr=0.1)).training_id != cell.training_id


def test_the_perplexity_asks_for_images() -> None:
    with pytest.raises(ValidationError, match="number of images is 15, but must exceed 3 times"):
        map_of(images=15)


@pytest.mark.slow
def test_points_are_of_the_encoder_that_pretrain_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = run(tmp_path, TRAINED)
    home = TrainedFolder.of(TRAINED, Store(tmp_path).folders([TRAINED], tmp_path))
    before = {p: p.read_bytes() for p in home.path.rglob("*") if p.is_file()}
    monkeypatch.setattr(
        "bench.experiments.pretrain.SharedTraining.train", lambda *_: pytest.fail("trained")
    )
    mapped = run(tmp_path, map_of())
    assert isinstance(plain, Result)
    assert isinstance(mapped, Result)
    assert set(mapped.arrays) == {"tsne", "label"}
    assert mapped.arrays["tsne"].shape == (40, 2)
    assert set(mapped.metrics) == set(TSNE.metrics)
    assert np.isfinite(mapped.arrays["tsne"]).all()
    assert {p: p.read_bytes() for p in home.path.rglob("*") if p.is_file()} == before
    again = run(tmp_path, map_of())
    assert isinstance(again, Result)
    assert np.array_equal(again.arrays["tsne"], mapped.arrays["tsne"])


@pytest.mark.slow
def test_each_point_has_its_images_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of the map the features themselves, of all test images and of 40 of them."""
    monkeypatch.setattr("bench.experiments.tsne.tsne", lambda x_mD, **_: (x_mD, 0.0))
    whole, some = (run(tmp_path, map_of(images=images)) for images in (2000, 40))
    assert isinstance(whole, Result)
    assert isinstance(some, Result)
    assert len(whole.arrays["label"]) == 450
    assert np.allclose(np.linalg.norm(whole.arrays["tsne"], axis=1), 1, atol=1e-5)
    labels = {row.tobytes(): label for row, label in zip(*map_arrays(whole), strict=True)}
    rows, found = map_arrays(some)
    assert [labels[row.tobytes()] for row in rows] == found.tolist()
    assert len(set(found.tolist())) > 5


@pytest.mark.slow
def test_it_trains_what_is_not_there_and_pretrain_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = run(tmp_path / "alone", TRAINED)
    mapped = run(tmp_path / "both", map_of())
    monkeypatch.setattr(
        "bench.experiments.pretrain.SharedTraining.train", lambda *_: pytest.fail("trained")
    )
    after = run(tmp_path / "both", TRAINED)
    assert isinstance(mapped, Result)
    assert isinstance(alone, Result)
    assert isinstance(after, Result)
    assert after.metrics == alone.metrics


@pytest.mark.slow
def test_a_perplexity_for_more_images_than_there_are(tmp_path: Path) -> None:
    outcome = run(tmp_path, map_of(images=2000, perplexity=500.0))
    assert isinstance(outcome, DataFailure)
    assert str(outcome) == "perplexity is 500, which is too large for 450 test images"
