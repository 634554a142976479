"""Images in memory: digits, torchvision's files, the catalogue and what it says of mistakes."""

import hashlib
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bench.cells.datasets import IMAGE_SETS, streams
from bench.data.catalogue import check_present, is_present
from bench.data.images import Images, channel_statistics, fingerprint_of, load_digits
from bench.data.load import download, load_images
from bench.errors import DataError, DataMissing, DataTorn

datasets = pytest.importorskip("torchvision.datasets")


@pytest.fixture(scope="module")
def digits() -> Images:
    return load_digits()


def test_digits_are_all_there_and_a_quarter_of_each_is_held_out(digits: Images) -> None:
    train, test = digits.train.labels.bincount(), digits.test.labels.bincount()
    assert (train + test).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert ((test - (train + test) / 4).abs() <= 0.5).all()
    seen = {row.numpy().tobytes() for row in digits.train.pixels}
    assert not any(row.numpy().tobytes() in seen for row in digits.test.pixels)


def test_digits_never_change(digits: Images) -> None:
    """Fingerprint over the bytes of pixels and labels: a new one asks for a new version."""
    assert digits.fingerprint == "8abf809f7259e6ba"
    assert load_digits.__wrapped__().fingerprint == digits.fingerprint


def test_a_digit_is_scaled_repeated_and_resized(digits: Images) -> None:
    """Twice the size with pixel centres aligned: weights 3/4 and 1/4 of the two nearest."""
    from sklearn.datasets import load_digits as source

    both = torch.cat([digits.train.pixels, digits.test.pixels]).numpy()
    images = {image.tobytes() for image in both}
    for original in source().images[:20]:
        grey = np.pad(np.rint(original * 255 / 16), 1, mode="edge")
        for axis in (0, 1):
            near = np.take(grey, range(1, grey.shape[axis] - 1), axis)
            before = np.take(grey, range(grey.shape[axis] - 2), axis)
            after = np.take(grey, range(2, grey.shape[axis]), axis)
            pairs = np.stack([0.75 * near + 0.25 * before, 0.75 * near + 0.25 * after], axis + 1)
            shape = list(near.shape)
            shape[axis] *= 2
            grey = pairs.reshape(shape)
        expected = np.repeat(np.rint(grey).astype(np.uint8)[None], 3, axis=0)
        assert expected.tobytes() in images


def test_statistics_are_those_of_the_pixels() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (7, 3, 5, 4), dtype=np.uint8)
    pixels[:, 1] //= 2
    mean, std = channel_statistics(torch.from_numpy(pixels))
    assert mean == pytest.approx((pixels / 255).mean(axis=(0, 2, 3)), rel=1e-12)
    assert std == pytest.approx((pixels / 255).std(axis=(0, 2, 3)), rel=1e-12)


def test_fingerprint_sees_where_parts_end() -> None:
    assert re.fullmatch("[0-9a-f]{16}", fingerprint_of([]))
    assert fingerprint_of([b"ab", b"c"]) != fingerprint_of([b"a", b"bc"])


def test_a_split_moves_whole(digits: Images) -> None:
    moved = digits.test.to("meta")
    assert moved.pixels.device.type == moved.labels.device.type == "meta"


def write_cifar(root: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> np.ndarray[Any, Any]:
    """Write a data set of three images a file in CIFAR's format; return all its pixels."""
    source = getattr(datasets, name)
    folder = root / str(source.base_folder)
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    files = [file for file, _ in source.train_list + source.test_list]
    pixels = rng.integers(0, 256, (len(files), 3, 3072), dtype=np.uint8)
    labels = "labels" if name == "CIFAR10" else "fine_labels"
    sums = {}
    contents = [{"data": own, labels: [2, 0, 1]} for own in pixels]
    meta = {source.meta["key"]: ["a", "b", "c"]}
    for file, content in zip([*files, source.meta["filename"]], [*contents, meta], strict=True):
        dumped = pickle.dumps(content, protocol=2)
        (folder / file).write_bytes(dumped)
        sums[file] = hashlib.md5(dumped).hexdigest()
    for part in ("train_list", "test_list"):
        known = [[file, sums[file]] for file, _ in getattr(source, part)]
        monkeypatch.setattr(source, part, known)
    monkeypatch.setattr(source, "meta", source.meta | {"md5": sums[source.meta["filename"]]})
    return pixels


@pytest.mark.parametrize(("name", "classes"), [("cifar10", 10), ("cifar100", 100)])
def test_cifar_is_read(
    name: str, classes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = write_cifar(tmp_path, name.upper(), monkeypatch).reshape(-1, 3, 32, 32)
    images = load_images(name, tmp_path)
    assert (images.name, images.classes, images.image_size) == (name, classes, 32)
    assert torch.equal(images.train.pixels, torch.from_numpy(written[:-3]))
    assert torch.equal(images.test.pixels, torch.from_numpy(written[-3:]))
    assert images.test.labels.tolist() == [2, 0, 1]
    assert images.train.labels.dtype == torch.int64
    assert images.train.pixels.is_contiguous()
    assert images.unlabeled is None


@pytest.mark.parametrize("file", ["data_batch_3", "test_batch", "batches.meta"])
def test_a_torn_file_is_told_by_name(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_cifar(tmp_path, "CIFAR10", monkeypatch)
    torn = tmp_path / "cifar-10-batches-py" / file
    torn.write_bytes(torn.read_bytes()[:-1])
    remedy = "'bench datasets --get cifar10' downloads the data set again."
    told = f"{torn}: this file is missing or damaged. {remedy}"
    with pytest.raises(DataTorn, match=f"^{re.escape(told)}$"):
        load_images("cifar10", tmp_path)


def test_stl10_has_unlabelled_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "stl10_binary"
    folder.mkdir()
    rng = np.random.default_rng(0)
    counts = {"train_X.bin": 2, "unlabeled_X.bin": 4, "test_X.bin": 3}
    pixels = {
        file: rng.integers(0, 256, (n, 3, 96, 96), dtype=np.uint8) for file, n in counts.items()
    }
    contents = {file: own.transpose(0, 1, 3, 2).tobytes() for file, own in pixels.items()}
    contents |= {"train_y.bin": bytes([1, 10]), "test_y.bin": bytes([3, 2, 1])}
    for part in ("train_list", "test_list"):
        files = [file for file, _ in getattr(datasets.STL10, part)]
        sums = [hashlib.md5(contents[file]).hexdigest() for file in files]
        monkeypatch.setattr(datasets.STL10, part, list(zip(files, sums, strict=True)))
    for file, content in contents.items():
        (folder / file).write_bytes(content)
    images = load_images("stl10", tmp_path)
    assert images.unlabeled is not None
    assert torch.equal(images.train.pixels, torch.from_numpy(pixels["train_X.bin"]))
    assert torch.equal(images.unlabeled.pixels, torch.from_numpy(pixels["unlabeled_X.bin"]))
    assert images.unlabeled.labels.tolist() == [-1] * 4
    assert images.unlabeled.pixels.is_contiguous()
    assert images.train.labels.tolist() == [0, 9]
    assert images.test.labels.tolist() == [2, 1, 0]
    assert (images.image_size, images.classes) == (96, 10)


def test_what_has_to_be_put_there_by_hand_says_where() -> None:
    told = (
        "imagenet1k: the folder nowhere/imagenet1k does not exist. Put the images "
        "into nowhere/imagenet1k as train/<wnid>/*.JPEG and val/<wnid>/*.JPEG."
    )
    with pytest.raises(DataMissing, match=f"^{re.escape(told)}$"):
        download("imagenet1k", Path("nowhere"))


MISTAKES = {
    "cifar10": "cifar10: not found in nowhere. 'bench datasets --get cifar10' downloads it there "
    "(170 MB).",
    "cifra10": "cifra10: there is no data set of this name. Did you mean 'cifar10'? "
    "Allowed here: digits, cifar10, cifar100, stl10, imagenet100, imagenet1k, "
    "folder:<name>.",
    "folder:mine": "folder:mine: the folder nowhere/mine does not exist. Put the images into "
    "nowhere as mine/train/<class>/*.jpg and mine/test/<class>/*.jpg, or as "
    "mine/*.jpg if they have no classes.",
    "imagenet100": "imagenet100: the folder nowhere/imagenet100 does not exist. "
    "Put the images into nowhere/imagenet100 as "
    "train/<wnid>/*.JPEG and val/<wnid>/*.JPEG, or put all of "
    "imagenet1k into the same parent folder.",
}
OUTSIDE = ["../x", "a/b", "/etc", "", ".", "..", ".cache", "-x", "a\\b", "a b", "a\n"]
RULE = "letters, digits, '_', '-' and '.', and may not begin with '-' or '.'"
for own in OUTSIDE:
    on_one_line = own.replace("\n", r"\n")
    MISTAKES[f"folder:{own}"] = (
        f"folder:{on_one_line}: the name of a data set folder must consist of {RULE}."
    )


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_before_and_while_loading(name: str) -> None:
    for look in (check_present, load_images):
        with pytest.raises(DataError) as caught:
            look(name, Path("nowhere"))
        assert str(caught.value) == MISTAKES[name]


def test_the_catalogue_knows_what_is_there(tmp_path: Path) -> None:
    assert [name for name in IMAGE_SETS if is_present(name, tmp_path)] == ["digits"]
    assert is_present("digits", tmp_path / "nowhere")
    (tmp_path / "cifar-100-python").mkdir()
    (tmp_path / "imagenet1k" / "train").mkdir(parents=True)
    assert is_present("cifar100", tmp_path)
    assert not is_present("imagenet100", tmp_path)
    (tmp_path / "imagenet1k" / "val").mkdir()
    assert is_present("imagenet100", tmp_path)


def test_only_imagenet_streams(tmp_path: Path) -> None:
    names = [*IMAGE_SETS, "folder:imagenet1k"]
    assert [name for name in names if streams(name)] == ["imagenet100", "imagenet1k"]
    for part in ("train", "val"):
        (tmp_path / "imagenet1k" / part).mkdir(parents=True)
    told = "the data set imagenet1k does not fit in memory; use load_files of bench.data.streaming"
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        load_images("imagenet1k", tmp_path)
