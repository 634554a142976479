"""Crops from disk: the same bytes for any number of workers, from any step on."""

import os
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from PIL import Image

from bench.data.decode import read_image
from bench.data.streaming import centre_crops, load_files, random_crops
from bench.errors import DataTorn
from tests.fakes.paths import ROOT

SIZES = [(40, 30), (25, 33), (20, 20), (64, 21), (31, 47)]  # width, height
SIDES = (16, 12)  # of the two views
ORDER = np.array([[4, 0, 2], [1, 1, 3], [0, 4, 3], [2, 3, 1]])


def crops(step: int) -> npt.NDArray[np.float64]:
    return np.random.default_rng(step).random((2, 3, 4))


def box(numbers: npt.NDArray[Any], height: int, width: int) -> tuple[int, int, int, int]:
    h, w = 1 + int(numbers[0] * (height - 1)), 1 + int(numbers[1] * (width - 1))
    return int(numbers[2] * (height - h + 1)), int(numbers[3] * (width - w + 1)), h, w


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    paths = [folder / f"{i}.JPEG" for i in range(len(SIZES))]
    for path, (width, height) in zip(paths, SIZES, strict=True):
        Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8)).save(path)
    return paths


def test_crops_are_torchvisions(files: list[Path]) -> None:
    functional = pytest.importorskip("torchvision.transforms.functional")
    batches = list(random_crops(files, SIDES, ORDER, crops, box, workers=0))
    assert len(batches) == 4
    for step, batch in enumerate(batches):
        assert [crop.shape for crop in batch] == [(3, 3, side, side) for side in SIDES]
        for view, side in enumerate(SIDES):
            for place, row in enumerate(ORDER[step]):
                with Image.open(files[row]) as image:
                    rgb = image.convert("RGB")
                edges = box(crops(step)[view, place], rgb.height, rgb.width)
                expected = np.array(functional.resized_crop(rgb, *edges, [side, side]))
                found = batch[view][place].permute(1, 2, 0)
                assert torch.equal(found, torch.from_numpy(expected))


@pytest.mark.slow
def test_workers_and_resuming_change_no_byte(files: list[Path]) -> None:
    """Four steps by two workers, and the last two of them by a stream that begins there."""
    here = list(random_crops(files, SIDES, ORDER, crops, box, workers=0))
    apart = list(random_crops(files, SIDES, ORDER, crops, box, workers=2))
    resumed = list(random_crops(files, SIDES, ORDER, crops, box, workers=1, start=2))
    assert all(all(map(torch.equal, a, b)) for a, b in zip(here, apart, strict=True))
    assert all(all(map(torch.equal, a, b)) for a, b in zip(here[2:], resumed, strict=True))


def test_an_image_is_decoded_once_for_all_its_views(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []

    def counted(name: str, side: int | None) -> Image.Image:
        read.append(Path(name))
        return read_image(Path(name), side)

    monkeypatch.setattr("bench.data.streaming.read_image", counted)
    list(random_crops(files, SIDES, ORDER, crops, box, workers=0))
    assert read == [files[row] for row in ORDER.ravel()]


def numpy_state() -> bytes:
    return pickle.dumps(np.random.get_state())  # noqa: NPY002


@pytest.mark.parametrize("workers", [0, 2])
def test_global_random_state_is_left_alone(files: list[Path], workers: int) -> None:
    before, legacy = torch.get_rng_state(), numpy_state()
    list(random_crops(files, SIDES, ORDER[:1], crops, box, workers=workers))
    assert torch.equal(torch.get_rng_state(), before)
    assert numpy_state() == legacy


@pytest.mark.parametrize("workers", [0, 2])
def test_a_torn_image_is_one_line(files: list[Path], tmp_path: Path, workers: int) -> None:
    torn = tmp_path / "torn.JPEG"
    torn.write_bytes(files[0].read_bytes()[:100])
    batches = random_crops(
        [*files, torn], SIDES, np.array([[0], [5]]), one_crop, box, workers=workers
    )
    next(batches)
    with pytest.raises(
        DataTorn, match=f"^{re.escape(str(torn))}: the file is not a readable image$"
    ):
        next(batches)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_line_of_pixels_is_not_enlarged(files: list[Path], tmp_path: Path, workers: int) -> None:
    line = tmp_path / "line.JPEG"
    Image.new("RGB", (60_000, 1)).save(line)
    with pytest.raises(DataTorn) as fault:
        list(centre_crops([*files, line], 14, 1500, workers=workers))
    assert str(fault.value) == (
        f"{line}: the image has 90000000 x 1500 pixels, but at most 67108864 are "
        "decoded once its shorter side has 1500"
    )


def test_a_pipe_among_streamed_images_is_not_waited_for(tmp_path: Path) -> None:
    write_imagenet(tmp_path / "imagenet100", listed())
    own = tmp_path / "imagenet100" / "val" / listed()[0] / "a.JPEG"
    os.mkfifo(own)
    with pytest.raises(DataTorn, match=f"^{re.escape(str(own))}: this is not a regular file$"):
        load_files("imagenet100", tmp_path)


def one_crop(step: int) -> npt.NDArray[np.float64]:
    return np.full((2, 1, 4), 0.5)


@pytest.mark.parametrize("workers", [0, 2])
def test_centres_come_in_the_order_of_the_files(files: list[Path], workers: int) -> None:
    functional = pytest.importorskip("torchvision.transforms.functional")
    batches = list(centre_crops(files, 14, 16, workers=workers, batch=2))
    assert [len(batch) for batch in batches] == [2, 2, 1]
    for path, found in zip(files, torch.cat(batches), strict=True):
        with Image.open(path) as image:
            resized = functional.resize(image.convert("RGB"), 16)
        expected = torch.from_numpy(np.array(functional.center_crop(resized, 14)))
        assert torch.equal(found.permute(1, 2, 0), expected)


def listed() -> list[str]:
    file = ROOT / "bench/data/imagenet100_classes.txt"
    return file.read_text().split()


def write_imagenet(folder: Path, classes: list[str]) -> None:
    """Write an empty file a class and part: lists never open them."""
    for part in ("train", "val"):
        for name in classes:
            (folder / part / name).mkdir(parents=True)
            (folder / part / name / f"{name}_1.JPEG").touch()


def test_imagenet100_is_a_part_of_imagenet1k(tmp_path: Path) -> None:
    classes = sorted(listed())
    assert len(set(classes)) == 100
    write_imagenet(tmp_path / "imagenet1k", ["n00000001", *classes])
    found = load_files("imagenet100", tmp_path)
    assert [path.parent.name for path in found.train.paths] == classes
    assert found.train.labels.tolist() == found.test.labels.tolist() == list(range(100))
    assert found.test.paths[7] == tmp_path / "imagenet1k/val" / classes[7] / f"{classes[7]}_1.JPEG"
    write_imagenet(tmp_path / "imagenet100", classes)
    own = load_files("imagenet100", tmp_path)
    assert own.train.paths[0].is_relative_to(tmp_path / "imagenet100")
    assert own.fingerprint == found.fingerprint
    own.test.paths[0].write_bytes(b"x")
    assert load_files("imagenet100", tmp_path).fingerprint != found.fingerprint


def test_classes_that_are_missing_are_told(tmp_path: Path) -> None:
    write_imagenet(tmp_path / "imagenet1k", listed())
    (tmp_path / "imagenet1k/val" / listed()[3] / f"{listed()[3]}_1.JPEG").unlink()
    (tmp_path / "imagenet1k/val" / listed()[3]).rmdir()
    form = "Store all classes as train/<wnid>/*.JPEG and val/<wnid>/*.JPEG."
    faults = [("imagenet1k", "train", "100 of the 1000"), ("imagenet100", "val", "99 of the 100")]
    for name, part, count in faults:
        told = f"{tmp_path}/imagenet1k/{part}: the folder has {count} classes of {name}. {form}"
        with pytest.raises(DataTorn, match=f"^{re.escape(told)}$"):
            load_files(name, tmp_path)
