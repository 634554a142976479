"""A folder of images: what is read, what is noticed, and the cache that changes nothing."""

import os
import re
import shutil
import struct
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from PIL import Image

from bench.data import folders
from bench.data.catalogue import image_folders, is_present
from bench.data.decode import centre_crop
from bench.data.folders import load_folder
from bench.data.images import Images, fingerprint_of
from bench.errors import DataError, DataMissing, DataTorn


def write_image(file: Path, seed: int, size: tuple[int, int] = (6, 6)) -> None:
    """Write noise; uncompressed, so that all files of one size (width, height) are as long."""
    file.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(noise).save(file, compress_level=0)


def pixels_of(file: Path) -> torch.Tensor:
    with Image.open(file) as image:
        return torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for i, where in enumerate(
        ["train/cat/1", "train/cat/2", "train/ant/1", "test/ant/1", "test/cat/1"]
    ):
        write_image(tmp_path / "mine" / f"{where}.png", i)
    return tmp_path


def same(a: Images, b: Images) -> bool:
    pairs = [(a.train.pixels, b.train.pixels), (a.test.pixels, b.test.pixels)]
    return all(torch.equal(*pair) for pair in pairs)


def test_a_folder_is_read_by_class_and_name(root: Path) -> None:
    images = load_folder("mine", root)
    mine = root / "mine"
    files = ["train/ant/1.png", "train/cat/1.png", "train/cat/2.png"]
    assert torch.equal(images.train.pixels, torch.stack([pixels_of(mine / f) for f in files]))
    assert torch.equal(images.test.pixels[1], pixels_of(mine / "test/cat/1.png"))
    assert images.train.labels.tolist() == [0, 1, 1]
    assert images.test.labels.tolist() == [0, 1]
    assert (images.name, images.classes, images.image_size) == ("folder:mine", 2, 6)
    assert images.mean == pytest.approx((images.train.pixels / 255).mean(dim=(0, 2, 3)).tolist())


def test_val_stands_in_for_test(root: Path) -> None:
    expected = load_folder("mine", root)
    (root / "mine" / "test").rename(root / "mine" / "val")
    assert same(load_folder("mine", root), expected)


def test_only_images_are_read_in_any_mode(root: Path) -> None:
    folder = root / "mine" / "train" / "ant"
    for name in ("._1.png", "notes.txt"):
        (folder / name).write_bytes(b"no image")
    (root / "mine" / "train" / ".hidden").mkdir()
    Image.new("L", (6, 6), 7).save(folder / "2.PNG")
    Image.new("RGBA", (6, 6), (1, 2, 3, 0)).save(folder / "3.webp", lossless=True, exact=True)
    Image.new("CMYK", (6, 6)).save(folder / "4.jpeg")
    images = load_folder("mine", root)
    assert images.classes == 2
    assert [row[:, 0, 0].tolist() for row in images.train.pixels[1:4]] == [
        [7, 7, 7],
        [1, 2, 3],
        [255, 255, 255],
    ]


@pytest.mark.parametrize("kind", ["grey", "grey and alpha", "colour"])
def test_16_bits_are_scaled_to_8(root: Path, kind: str) -> None:
    """A ramp, dark to bright, of which clipping would leave all but one pixel white."""
    ramp = np.linspace(0, 65535, 36).astype(np.uint16).reshape(6, 6)
    write_deep(root / "mine/train/ant/1.png", ramp, kind)
    found = load_folder("mine", root).train.pixels[0]
    assert torch.equal(found, torch.from_numpy((ramp >> 8).astype(np.uint8)).expand(3, 6, 6))


def write_deep(file: Path, grey: npt.NDArray[np.uint16], kind: str) -> None:
    """Write a PNG of 16 bits a channel, which Pillow cannot do but for grey."""
    colour, channels = {"grey": (0, 1), "grey and alpha": (4, 2), "colour": (2, 3)}[kind]
    rows = np.repeat(grey[:, :, None], channels, axis=2).astype(">u2")
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    header = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 16, colour, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(raw)), (b"IEND", b"")]
    file.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + b"".join(
            struct.pack(">I", len(content)) + name + content
            + struct.pack(">I", zlib.crc32(name + content))
            for name, content in parts
        )
    )  # fmt: skip


def test_white_pictures_of_earlier_versions_are_not_taken_from_the_cache(root: Path) -> None:
    """The fingerprint, and with it the cache's name, is another one; of other images it is not."""
    write_deep(root / "mine/train/ant/1.png", np.zeros((6, 6), np.uint16), "grey")
    files = sorted((root / "mine").rglob("*.png"), key=lambda p: (p.parts[-3] == "test", p))
    old = fingerprint_of(
        f"{f.relative_to(root / 'mine')} {f.stat().st_size} {zlib.crc32(f.read_bytes())}".encode()
        for f in files
    )
    assert load_folder("mine", root).fingerprint != old
    write_deep(files[0], np.zeros((6, 6), np.uint16), "colour")
    old = fingerprint_of(
        f"{f.relative_to(root / 'mine')} {f.stat().st_size} {zlib.crc32(f.read_bytes())}".encode()
        for f in files
    )
    assert load_folder("mine", root).fingerprint == old


@pytest.mark.parametrize(
    ("size", "told"),
    [
        (
            (3_000_000, 1),
            "the image has 18000000 x 6 pixels, but at most 67108864 are decoded once its ",
        ),
        (
            (20_000_000, 1),
            "the image has 120000000 x 6 pixels, but at most 67108864 are decoded once its ",
        ),
        ((80_000_000, 1), "the image has 80000000 x 1 pixels, but at most 67108864 are decoded"),
        ((12_000, 12_000), "the image has 12000 x 12000 pixels, but at most 67108864 are decoded"),
        ((200_000, 200_000), "the image has too many pixels; at most 67108864 are decoded"),
    ],
)
def test_the_header_says_what_is_too_large(root: Path, size: tuple[int, int], told: str) -> None:
    """A file of some bytes whose pixels would take gigabytes."""
    file = root / "mine/train/ant/1.png"
    head = struct.pack(">IIBBBBB", *size, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    content = struct.pack(">I", len(head)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + content + struct.pack(">I", 0) + b"IDAT" + bytes(4))
    with pytest.raises(DataTorn) as fault:
        load_folder("mine", root)
    assert str(fault.value).startswith(f"{file}: {told}")


def test_no_program_is_run_for_a_picture(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow hands PostScript to Ghostscript, whatever the file's name is."""
    monkeypatch.setattr("PIL.EpsImagePlugin.Ghostscript", lambda *_: pytest.fail("it is run"))
    file = root / "mine/train/ant/1.png"
    Image.new("RGB", (6, 6)).save(file, format="EPS")
    with pytest.raises(
        DataTorn, match=f"^{re.escape(str(file))}: the file is not a readable image$"
    ):
        load_folder("mine", root)


def test_the_most_common_shorter_side_is_everyones(root: Path) -> None:
    """Four images of 6 and four of 9: the smaller; one more of 9: that."""
    write_image(root / "mine/train/dog/1.png", 5, (9, 13))
    write_image(root / "mine/train/dog/2.png", 6, (9, 9))
    write_image(root / "mine/train/dog/3.png", 7, (18, 9))
    write_image(root / "mine/test/dog/1.png", 9, (9, 9))
    (root / "mine/train/cat/2.png").unlink()
    images = load_folder("mine", root)
    assert images.train.pixels.shape == (5, 3, 6, 6)
    with Image.open(root / "mine/train/dog/2.png") as image:
        shrunk = np.array(image.resize((6, 6), Image.Resampling.BILINEAR))
    assert torch.equal(images.train.pixels[3], torch.from_numpy(shrunk).permute(2, 0, 1))
    write_image(root / "mine/train/dog/4.png", 8, (9, 10))
    assert load_folder("mine", root).image_size == 9


@pytest.mark.parametrize("size", [(9, 13), (13, 9), (40, 7), (6, 6), (8, 8), (5, 31)])
@pytest.mark.parametrize(("resize", "crop"), [(6, 6), (8, 7)])
def test_centre_crop_is_torchvisions(size: tuple[int, int], resize: int, crop: int) -> None:
    functional = pytest.importorskip("torchvision.transforms.functional")
    noise = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    image = Image.fromarray(noise)
    expected = functional.center_crop(functional.resize(image, resize), crop)
    assert np.array_equal(np.asarray(centre_crop(image, resize, crop)), np.asarray(expected))


def test_fingerprint_is_the_contents_not_the_times(root: Path, tmp_path: Path) -> None:
    first = load_folder("mine", root).fingerprint
    shutil.copytree(root / "mine", tmp_path / "elsewhere" / "other")
    for file in (tmp_path / "elsewhere").rglob("*.png"):
        os.utime(file, (1, 1))
    assert load_folder("other", tmp_path / "elsewhere").fingerprint == first


def test_a_changed_picture_is_noticed(root: Path) -> None:
    """Same length, same time, other pixels; then another name for the same picture."""
    first, file = load_folder("mine", root), root / "mine/train/cat/1.png"
    before = file.stat()
    write_image(file, 99)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    second = load_folder("mine", root)
    assert torch.equal(second.train.pixels[1], pixels_of(file))
    file.rename(file.with_name("0.png"))
    assert len({first.fingerprint, second.fingerprint, load_folder("mine", root).fingerprint}) == 3


def test_images_are_decoded_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_folder("mine", root)
    assert [file.name for file in (root / ".cache").iterdir()] == [f"mine-{first.fingerprint}.npz"]
    monkeypatch.delattr(folders, "_decode")
    assert same(load_folder("mine", root), first)


@pytest.mark.parametrize("fault", ["short", "flipped", "empty", "header", "other"])
def test_a_torn_cache_is_made_again(root: Path, fault: str) -> None:
    first = load_folder("mine", root)
    (cache,) = (root / ".cache").iterdir()
    whole = cache.read_bytes()
    middle = len(whole) // 2
    torn = {
        "short": whole[:middle],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "empty": b"",
        "header": b"PK\x03\x04" + whole[8:],
    }
    if fault == "other":
        np.savez(cache, pixels=np.zeros((2, 3, 6, 6), dtype=np.uint8))
    else:
        cache.write_bytes(torn[fault])
    assert same(load_folder("mine", root), first)
    assert cache.read_bytes() == whole


def test_a_folder_that_cannot_be_written_has_no_cache(root: Path) -> None:
    (root / ".cache").write_bytes(b"in the way")
    assert load_folder("mine", root).train.pixels.shape == (3, 3, 6, 6)


def test_nothing_is_left_of_a_cache_half_written(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full)
    load_folder("mine", root)
    assert list((root / ".cache").iterdir()) == []


def raises(error: type[DataError], told: str) -> "pytest.RaisesExc[DataError]":
    return pytest.raises(error, match=f"^{re.escape(told)}$")


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_image_is_told_by_name(root: Path, content: bytes) -> None:
    file = root / "mine/train/cat/3.jpg"
    file.write_bytes(content)
    with raises(DataTorn, f"{file}: the file is not a readable image"):
        load_folder("mine", root)


def test_a_truncated_image_is_told_by_name(root: Path) -> None:
    file = root / "mine/test/cat/1.png"
    file.write_bytes(file.read_bytes()[:-40])
    with raises(DataTorn, f"{file}: the file is not a readable image"):
        load_folder("mine", root)


def test_a_part_that_is_missing_or_empty(root: Path) -> None:
    mine = root / "mine"
    (mine / "test/ant/1.png").unlink()
    (mine / "test/cat/1.png").unlink()
    told = f"{mine}/test: the folder has no images. Put images there as <class>/*.jpg (png, webp)."
    with raises(DataMissing, told):
        load_folder("mine", root)
    shutil.rmtree(mine / "test")
    where = "mine/train/<class>/*.jpg and mine/test/<class>/*.jpg"
    where += ", or as mine/*.jpg if they have no classes"
    told = (
        f"folder:mine: the folder {mine}/test does not exist. Put the images into "
        f"{root} as {where}."
    )
    with raises(DataMissing, told):
        load_folder("mine", root)


@pytest.mark.parametrize("where", ["", "train/"])
def test_images_without_classes_have_no_labels(tmp_path: Path, where: str) -> None:
    folder = tmp_path / "photos"
    for i in range(3):
        write_image(folder / f"{where}{i}.png", i)
    write_image(folder / f"{where}.hidden.png", 9)
    images = load_folder("photos", tmp_path)
    expected = torch.stack([pixels_of(folder / f"{where}{i}.png") for i in range(3)])
    assert torch.equal(images.train.pixels, expected)
    assert images.train.labels.tolist() == [-1, -1, -1]
    assert (images.classes, len(images.test.pixels), len(images.test.labels)) == (0, 0, 0)
    assert image_folders(tmp_path) == {"folder:photos": folder}
    assert is_present("folder:photos", tmp_path)


def test_images_without_classes_beside_a_test_part_with_classes(root: Path) -> None:
    train = root / "mine/train"
    shutil.rmtree(train)
    write_image(train / "1.png", 0)
    told = f"^{root}/mine/test: this folder has classes, but the training images in "
    with pytest.raises(DataError, match=told):
        load_folder("mine", root)


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("empty", [False, True])
def test_a_class_without_images_in_a_part(root: Path, part: str, empty: bool) -> None:
    """Between a test part's classes nothing can be told apart where there is but one."""
    folder = root / "mine" / part / "ant"
    (folder / "1.png").unlink()
    if not empty and part == "test":
        folder.rmdir()
    with raises(DataError, f"{folder}: the folder of this class has no images"):
        load_folder("mine", root)


def test_a_class_that_is_tested_but_not_trained_on(root: Path) -> None:
    write_image(root / "mine/test/cow/1.png", 0)
    with raises(DataError, f"{root}/mine/test/cow: {root}/mine/train has no folder for this class"):
        load_folder("mine", root)


@pytest.mark.parametrize("limit", [200, 539])
def test_too_large_for_memory(root: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    """5 images of 108 bytes are 540 as pixels; as files they are above 200 before all is read."""
    for file in (root / "mine").rglob("*.png"):
        Image.new("RGB", (6, 6)).save(file)
    assert 200 < sum(f.stat().st_size for f in (root / "mine").rglob("*.png")) < 539
    monkeypatch.setattr(folders, "LARGEST", limit)
    if limit == 200:
        monkeypatch.setattr(folders, "_common_side", None)
    kept = f"the images take more than the {limit / 1000000000.0:g} GB that may be kept in memory"
    with raises(DataError, f"folder:mine: {kept}. Store fewer or smaller images."):
        load_folder("mine", root)


def test_the_limit_itself_is_allowed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in (root / "mine").rglob("*.png"):
        Image.new("RGB", (6, 6)).save(file)
    monkeypatch.setattr(folders, "LARGEST", 540)
    assert load_folder("mine", root).image_size == 6


@pytest.mark.parametrize(
    "kind", ["a pipe", "a device", "a folder", "nothing", "itself", "no UTF-8"]
)
def test_what_is_no_image_file_is_one_line_with_its_path(root: Path, kind: str) -> None:
    """Neither is a pipe waited for, nor a device read."""
    (folder,) = (path for path in root.iterdir() if not path.name.startswith("."))
    own = next(path for path in sorted((folder / "train").iterdir()) if path.is_dir())
    path = own / "z.jpg"
    why = "this is not a regular file"
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    elif kind == "no UTF-8":
        path = Path(os.fsdecode(os.fsencode(own) + b"/\xff.jpg"))
        path.write_bytes(b"x")
        why = "the name of this file is not valid UTF-8"
    else:
        links = {"a device": "/dev/zero", "nothing": "nowhere", "itself": path.name}
        path.symlink_to(links[kind])
        why = why if kind == "a device" else "this is a link whose target does not exist"
    with pytest.raises(DataTorn) as fault:
        load_folder(folder.name, root)
    assert str(fault.value).startswith(f"{ascii(str(path))[1:-1]}: {why}")
