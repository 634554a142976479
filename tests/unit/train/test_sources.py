"""Sources: in memory and on disk, the same views whenever they are asked for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor
from torch.testing import assert_close
from torchvision.transforms.v2 import functional

from bench.cells.pretrain import Pretrain
from bench.data import streaming
from bench.data.images import Images, Split, load_digits
from bench.data.streams import Purpose, stream
from bench.data.views import crop_box, rgb_to_lab
from bench.errors import DataFailure, Interrupted
from bench.results.folder import CellFolder
from bench.train.batches import Batches
from bench.train.loop import Training, train
from bench.train.sources import (
    ImageSource,
    InMemory,
    at_size,
    chosen_rows,
    chosen_split,
    open_source,
)
from tests.fakes.cells import small_cell, training_of, weights
from tests.fakes.torchvision_views import one_view


def test_images_are_resized_only_to_another_size() -> None:
    images = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    assert at_size(images, 8) is images
    expected = functional.resize(images, [4, 4], antialias=True).clamp(0, 1)
    assert_close(at_size(images, 4), expected)


def test_an_epoch_shows_every_image_once() -> None:
    """96 images, 6 batches of 16; labels stand beside their images."""
    batches = Batches(cell := small_cell(), open_source(cell, Path(), "cpu"))
    assert batches.per_epoch == 6
    shown = torch.cat([batches.batch(0, place).labels for place in range(6)])
    assert torch.equal(shown.sort().values, batches.labels.sort().values)
    later = torch.cat([batches.batch(1, place).labels for place in range(6)])
    assert not torch.equal(shown, later)


def test_a_batch_is_the_same_whatever_was_asked_before() -> None:
    cell = small_cell()
    batches = Batches(cell, open_source(cell, Path(), "cpu"))
    in_order = [batches.batch(epoch, place) for epoch in (0, 1) for place in range(6)]
    fresh = Batches(cell, open_source(cell, Path(), "cpu"))
    for epoch, place in ((1, 4), (0, 3), (0, 4), (1, 0)):
        expected, found = in_order[6 * epoch + place], fresh.batch(epoch, place)
        assert torch.equal(expected.labels, found.labels)
        assert all(map(torch.equal, expected.views, found.views))


def test_the_two_views_differ_and_so_do_seeds() -> None:
    first, other = (training_of(small_cell(seed=seed)).batches.batch(0, 0) for seed in (0, 1))
    assert not torch.equal(first.views[0], first.views[1])
    assert not torch.equal(first.views[0], other.views[0])


def test_what_fills_no_step_is_dropped() -> None:
    cell = small_cell(N=32, train_images=90)
    assert Batches(cell, open_source(cell, Path(), "cpu")).per_epoch == 4


def test_a_share_of_the_images_is_the_same_for_every_seed() -> None:
    rows = [chosen_rows(small_cell(seed=seed), 1347) for seed in (0, 1)]
    assert rows[0].tolist() == rows[1].tolist()
    assert len(set(rows[0])) == 96
    assert chosen_rows(small_cell(train_images=None), 100).tolist() == list(range(100))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"train_images": 1348}, "train_images is 1348, but there are only 1347 training images"),
        ({"train_images": 8}, "a step needs N = 16 images, but there are only 8 training images"),
        (
            {"pretrain_on": "train+unlabeled"},
            "digits has no unlabelled images, so pretrain_on must be 'train'",
        ),
    ],
)
def test_too_little_data_is_told(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(DataFailure) as caught:
        open_source(small_cell(**changes), Path(), "cpu")
    assert str(caught.value) == told


def test_unlabelled_images_are_trained_on_and_not_evaluated_on() -> None:
    digits = load_digits()
    more = Split(digits.test.pixels, torch.full_like(digits.test.labels, -1))
    images = Images(**vars(digits) | {"unlabeled": more})
    cell = small_cell(pretrain_on="train+unlabeled", train_images=None)
    assert len(chosen_split(cell, images).labels) == 1797
    source = InMemory(cell, images, "cpu")
    assert sum(map(len, source.plain("train"))) == 1347


@pytest.mark.parametrize("views", ["moco-v1", "crop", "none"])
def test_images_are_resized_before_they_are_cropped(views: str) -> None:
    """Torchvision's Resize and then its transforms, image by image (mutual-information, C.2)."""
    cell = small_cell(views=views, resized_to=40, image_size=28)
    source = InMemory(cell, load_digits(), "cpu")
    rows = np.array([3, 8, 60, 41])
    (shown,) = source.pairs("train", [rows], lambda step: stream(5, Purpose.VIEWS, step))
    parameters = source.views.draw(stream(5, Purpose.VIEWS, 0), 4, 40, 40)
    for view, images in enumerate(shown):
        for n, row in enumerate(rows):
            large = functional.resize(source.parts["train"].pixels[row], [40, 40], antialias=True)
            expected = source.normalise(one_view(large, parameters, view, n, 28)[None])[0]
            assert_close(images[n], expected, rtol=0, atol=0.02)  # a level in 255


def test_views_of_resized_images_are_others_and_plain_images_the_same() -> None:
    small, large = (
        InMemory(small_cell(resized_to=side), load_digits(), "cpu") for side in (None, 40)
    )
    pairs = [
        next(iter(s.pairs("train", [np.arange(8)], lambda step: stream(5, Purpose.VIEWS, step))))
        for s in (small, large)
    ]
    assert not torch.equal(pairs[0][0], pairs[1][0])
    assert all(map(torch.equal, small.plain("train"), large.plain("train")))


def test_pixels_are_normalised_by_channel() -> None:
    digits = load_digits()
    source = InMemory(small_cell(image_size=16, train_images=None), digits, "cpu")
    values = torch.cat(list(source.plain("train")))
    assert_close(values.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-3, rtol=0)
    assert_close(values.std(dim=(0, 2, 3)), torch.ones(3), atol=1e-2, rtol=0)


@pytest.fixture
def imagenet100(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hundred classes of three small pictures each, of several sizes."""
    monkeypatch.setattr("bench.train.sources.cores", lambda: 0)  # decode here
    wnids = (Path(streaming.__file__).parent / "imagenet100_classes.txt").read_text().split()
    draw = np.random.default_rng(0)
    for wnid in wnids:
        for split, count in (("train", 2), ("val", 1)):
            folder = tmp_path / "imagenet100" / split / wnid
            folder.mkdir(parents=True)
            for i in range(count):
                shape = (int(draw.integers(20, 30)), int(draw.integers(20, 30)), 3)
                pixels = draw.integers(0, 256, size=shape, dtype=np.uint8)
                Image.fromarray(pixels).save(folder / f"{i}.JPEG")
    return tmp_path


STREAMED: dict[str, Any] = {
    "dataset": "imagenet100", "views": "simclr", "image_size": 16, "train_images": 64,
}  # fmt: skip


def test_streamed_views_are_those_of_the_files(imagenet100: Path) -> None:
    """The crop is a worker's, the rest the device's: with no operation but it they are the crop."""
    cell = small_cell(**STREAMED | {"views": "crop"})
    source = open_source(cell, imagenet100, "cpu")
    assert source.meta.classes == 100
    rows = np.array([5, 3])
    draw = stream(0, Purpose.VIEWS)
    ((a, b),) = source.pairs("train", [rows], lambda _: stream(0, Purpose.VIEWS))
    assert a.shape == b.shape == (2, 3, 16, 16)
    numbers = source.views.crop_numbers(draw, 2)
    path = source.paths["train"][5]  # type: ignore[attr-defined]
    image = Image.open(path)
    top, left, height, width = map(int, crop_box(numbers[0, 0], image.height, image.width))
    crop = image.crop((left, top, left + width, top + height))
    pixels = np.asarray(crop.resize((16, 16), Image.Resampling.BILINEAR))
    expected = torch.from_numpy(pixels.copy()).permute(2, 0, 1).float() / 255
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (source.meta.mean, source.meta.std))
    assert_close(a[0] * std + mean, expected, atol=1e-5, rtol=0)


@pytest.mark.slow
def test_a_streamed_run_resumes_to_the_same_bits(
    imagenet100: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_CHECKPOINT_S", "0")
    cell = small_cell(**STREAMED)

    def run(folder: Path, stop_after: int) -> Training:
        training, steps = Training(cell, open_source(cell, imagenet100, "cpu"), "cpu"), 0

        def heartbeat() -> None:
            nonlocal steps
            steps += 1
            if steps == stop_after:
                raise Interrupted

        folder.mkdir(parents=True, exist_ok=True)
        train(training, CellFolder(folder), heartbeat, watch=lambda _: {})
        return training

    whole = run(tmp_path / "a" / "cell", 0)
    with pytest.raises(Interrupted):
        run(tmp_path / "b" / "cell", 5)
    resumed = run(tmp_path / "b" / "cell", 0)
    first, second = weights(whole), weights(resumed)
    assert [name for name in first if not torch.equal(first[name], second[name])] == []


def cell_with(**fields: Any) -> Pretrain:
    """Return a cell of any settings, whether a method has them together or not."""
    return small_cell().model_copy(update=fields)


def sources_of(root: Path, **fields: Any) -> list[ImageSource]:
    """Return the images in memory, 16 x 16, and pictures on disk, of one cell's settings."""
    return [
        open_source(cell_with(**fields | {"dataset": name}), root, "cpu")
        for name in ("digits", "imagenet100")
    ]


def epoch_of(source: ImageSource, start: int = 0) -> list[tuple[Tensor, ...]]:
    """Return three steps of four images each, from step `start` on."""
    order = np.split(np.arange(12), 3)
    return list(source.pairs("train", order, lambda step: stream(0, Purpose.VIEWS, step), start))


MULTI: dict[str, Any] = {"views": "multi-crop", "image_size": 16, "local_size": 10}


def test_multi_crop_has_two_global_and_six_local_views(imagenet100: Path) -> None:
    sizes = [16] * 2 + [10] * 6
    for source in sources_of(imagenet100, **MULTI):
        for views in epoch_of(source):
            assert [view.shape for view in views] == [(4, 3, size, size) for size in sizes]
            assert all(view.is_contiguous(memory_format=torch.channels_last) for view in views)
            assert not torch.equal(views[0], views[1])
            assert not torch.equal(views[2], views[3])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["multi-crop", "crop-flip", "lab-filters", "moco-v1-lab"])
def test_any_step_is_the_same_from_any_start(imagenet100: Path, name: str) -> None:
    settings = MULTI | {"views": name} | ({} if name == "multi-crop" else {"local_size": None})
    for source in sources_of(imagenet100, **settings):
        whole, later = epoch_of(source), epoch_of(source, start=2)
        assert len(whole) == 3
        assert len(later) == 1
        assert all(map(torch.equal, whole[2], later[0]))


def test_a_bank_is_shown_one_view(imagenet100: Path) -> None:
    for settings in (MULTI, {"views": "simclr", "image_size": 16}):
        for source in sources_of(imagenet100, **settings, target="bank"):
            for views in epoch_of(source):
                assert [view.shape for view in views] == [(4, 3, 16, 16)]


@pytest.mark.slow
def test_lab_images_are_the_rgb_ones_in_lab(imagenet100: Path) -> None:
    """Views and plain images alike, in place of the normalisation by channel."""
    shown = {"views": "simclr", "image_size": 16}
    for rgb, lab in zip(
        sources_of(imagenet100, **shown),
        sources_of(imagenet100, **shown, colour="lab"),
        strict=True,
    ):
        mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (rgb.meta.mean, rgb.meta.std))
        here = [*epoch_of(rgb)[0], next(rgb.plain("test"))]
        there = [*epoch_of(lab)[0], next(lab.plain("test"))]
        for images, found in zip(here, there, strict=True):
            light, a, b = rgb_to_lab((images * std + mean).clamp(0, 1)).unbind(1)
            expected = torch.stack([light / 50 - 1, a / 110, b / 110], 1)
            assert_close(found, expected, rtol=0, atol=1e-4)
            assert found.is_contiguous(memory_format=torch.channels_last)


def test_what_a_set_does_not_have_is_told() -> None:
    told = "local_size must be null, because views 'simclr' have no local views"
    with pytest.raises(DataFailure, match=f"^{told}$"):
        open_source(cell_with(views="simclr", local_size=4), Path(), "cpu")
