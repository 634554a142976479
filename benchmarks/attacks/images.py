"""Folders of images with files that are torn, giant, of odd kinds, or no images at all."""

import io
import os
import pickle
import shutil
import struct
import sys
import zlib
from collections.abc import Generator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from bench.data.folders import load_folder
from bench.errors import BenchError
from benchmarks.attacks.attempt import Attempt, Outcome, judge
from benchmarks.attacks.child import Answer, bench, in_child
from benchmarks.attacks.material import damaged, replace_by_odd_file
from benchmarks.attacks.workbench import failures
from tests.fakes.suites import DIGITS, changed, to_yaml

NAME, SIDE, IMAGES = "pictures", 16, 20  # images of a class and part
SUITE = changed(
    DIGITS,
    {"name": "small", "fixed.dataset": f"folder:{NAME}", "fixed.epochs": 1, "grid.knn_k": [3],
     "fixed.train_images": None},
)  # fmt: skip
Pixels = npt.NDArray[Any]


def attempts(rng: Random, root: Path) -> Generator[Attempt, None, None]:
    """Yield attempts to load a folder of images, or to train on it, with one hostile file."""
    base = root / "base"
    _write_folder(base / "datasets" / NAME)
    (base / "suites").mkdir()
    suite = SUITE | {"fixed": {k: v for k, v in SUITE["fixed"].items() if v is not None}}
    (base / "suites" / "small.yaml").write_text(to_yaml(suite))
    while True:
        home = root / "home"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(base, home, symlinks=True)
        folder = home / "datasets" / NAME
        if rng.random() < 0.3:
            yield _exact(rng, home, folder)
            continue
        told = _cache(rng, home) if rng.random() < 0.15 else rng.choice(_HOSTILE)(rng, folder)
        yield _trained(home, told) if rng.random() < 0.15 else judge(f"load: {told}", _load(home))


def _write_folder(folder: Path) -> None:
    generator = np.random.default_rng(0)
    for part in ("train", "test"):
        for name in ("a", "b"):
            (folder / part / name).mkdir(parents=True)
            for i in range(IMAGES):
                array = generator.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
                Image.fromarray(array).save(folder / part / name / f"{i:02}.png")


def _load(home: Path, check: Pixels | None = None) -> Answer:
    """Load the folder; print how its first image differs from the pixels given, if it does."""

    def load() -> None:
        try:
            images = load_folder(NAME, home / "datasets")
        except BenchError as fault:
            print(f"bench: {fault}", file=sys.stderr)
            sys.exit(2)
        if check is not None:
            first = images.train.pixels[0].numpy().astype(float)
            if (far := np.abs(first - check).max()) > 1:
                print(f"off by up to {far:.0f} of 255")

    return in_child(load, home)


def _exact(rng: Random, home: Path, folder: Path) -> Attempt:
    """An image whose pixels are known, in one of the forms without loss."""
    grey = np.frombuffer(rng.randbytes(SIDE * SIDE), np.uint8).reshape(SIDE, SIDE)
    path = folder / "train" / "a" / "00.png"
    expected: Pixels = np.stack([grey] * 3).astype(float)
    kind = rng.choice(["L", "LA", "RGB", "RGBA", "P", "1", "16 bits", "32 bits", "webp"])
    if kind == "16 bits":
        Image.fromarray(grey.astype(np.uint16) * 257).save(path)
    elif kind == "32 bits":
        Image.fromarray(grey.astype(np.int32) * 257).save(path, "TIFF")
    elif kind == "webp":
        path.unlink()
        Image.fromarray(grey).convert("RGB").save(path.with_suffix(".webp"), lossless=True)
    elif kind == "1":
        bits = Image.fromarray(grey).point(lambda value: 255 * (value > 127), mode="1")
        bits.save(path)
        expected = np.stack([np.asarray(bits).astype(float) * 255] * 3)
    else:
        Image.fromarray(grey).convert(kind).save(path)
        if kind == "P":
            expected = np.asarray(Image.open(path).convert("RGB")).transpose(2, 0, 1).astype(float)
    answer = _load(home, expected)
    return judge(f"exact: {kind}", answer, lambda: answer.out.strip() or None)


def _cache(rng: Random, home: Path) -> str:
    """A damaged copy of the decoded pixels, or one that runs code where it is unpickled."""
    _load(home)
    (cache,) = (home / "datasets" / ".cache").glob("*.npz")
    if rng.random() < 0.2:
        return f"{replace_by_odd_file(cache, rng)} as the cache"
    cache.write_bytes(damaged(cache.read_bytes(), rng))
    return "other bytes in the cache"


def _trained(home: Path, told: str) -> Attempt:
    """Train on the folder: a fault of the data must be told as one."""
    answer = bench(home, "run", "small", "--executor", "inline")
    attempt = judge(f"run: {told}", answer)
    wrong = [message for reason, message in failures(home) if reason != "data"]
    if wrong and not attempt.is_finding:
        return Attempt(attempt.what, Outcome.TRACEBACK, f"told as a fault of the code: {wrong[0]}")
    return attempt


def _victim(rng: Random, folder: Path) -> Path:
    return rng.choice(sorted(folder.glob("*/*/*.png")))


def _torn(rng: Random, folder: Path) -> str:
    """Other bytes of an image of any format."""
    path, kind = _victim(rng, folder), rng.choice(["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP"])
    buffer = io.BytesIO()
    Image.open(path).save(buffer, kind)
    content = buffer.getvalue()
    for _ in range(rng.choice([1, 1, 5])):
        content = damaged(content, rng)
    path.write_bytes(content)
    return f"torn {kind}"


def _chunk(name: bytes, content: bytes) -> bytes:
    body = name + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def _giant(rng: Random, folder: Path) -> str:
    """A small file whose header asks for a lot, with or without the pixels."""
    width, height = rng.choice(
        [(1, 3_000_000), (3_000_000, 1), (1, 80_000_000), (12_000, 12_000), (100_000, 100_000),
         (2**31 - 1, 2**31 - 1), (0, 0), (1, 1), (5000, 3), (2**31 - 1, 1), (16, 10**6)]
    )  # fmt: skip
    depth, colour = rng.choice([(8, 0), (8, 2), (16, 0), (1, 0), (8, 3), (16, 6), (7, 9)])
    size = height * (1 + (width * depth * {0: 1, 2: 3, 3: 1, 6: 4}.get(colour, 1) + 7) // 8)
    data = zlib.compress(bytes(size), 1) if size < 5 * 10**8 else b""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    path = _victim(rng, folder)
    palette = _chunk(b"PLTE", bytes(range(3))) if colour == 3 else b""
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + palette + _chunk(b"IDAT", data)
        + _chunk(b"IEND", b"")
    )  # fmt: skip
    return f"{width} x {height} of {depth} bits, colour type {colour}"


def _with_chunk(rng: Random, folder: Path) -> str:
    """An image with a packed comment or profile that unpacks to a lot, or with odd chunks."""
    path = _victim(rng, folder)
    kind = rng.choice([b"zTXt", b"iCCP", b"iTXt", b"eXIf", b"tRNS", b"gAMA", b"acTL", b"fcTL"])
    packed = zlib.compress(bytes(rng.choice([10, 2**24, 2**28])), 1)
    body = rng.choice([b"a\0\0" + packed, rng.randbytes(20), b"", b"a\0\1\0\0\0" + packed])
    content = path.read_bytes()
    path.write_bytes(content[:33] + _chunk(kind, body) + content[33:])
    return f"chunk {kind.decode()} of {len(body)} bytes"


def _odd(rng: Random, folder: Path) -> str:
    path = _victim(rng, folder)
    return f"{replace_by_odd_file(path, rng)} as an image"


def _no_image(rng: Random, folder: Path) -> str:
    """Something else under the name of an image."""
    path = _victim(rng, folder)
    kinds = {
        "nothing": b"", "text": b"hello", "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "pickle": pickle.dumps({"a": 1}), "npy": b"\x93NUMPY", "noise": rng.randbytes(999),
        "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(touch escaped) system\n",
        "xbm": b"#define a_width 16\n#define a_height 16\nstatic char a_bits[] = {0};",
        "ppm": b"P6 16 16 255\n" + bytes(768), "giant ppm": b"P6 1 99999999 255\n",
    }  # fmt: skip
    kind = rng.choice(sorted(kinds))
    path.write_bytes(kinds[kind])
    return f"{kind} as an image"


def _form(rng: Random, folder: Path) -> str:
    """A sound image of an unusual form."""
    path = _victim(rng, folder)
    image = Image.open(path).convert("RGB")
    kind = rng.choice(["CMYK", "YCbCr", "turned", "animated", "one pixel", "flat", "progressive"])
    if kind in ("CMYK", "YCbCr"):
        image.convert(kind).save(path, "JPEG")
    elif kind == "turned":
        exif = Image.Exif()
        exif[0x0112] = rng.choice([3, 6, 99])
        image.save(path, "JPEG", exif=exif)
    elif kind == "animated":
        image.save(path, "PNG", save_all=True, append_images=[image.rotate(90)] * 3)
    elif kind == "progressive":
        image.save(path, "JPEG", progressive=True, quality=1)
    else:
        image.resize((1, 1) if kind == "one pixel" else (400, 1)).save(path, "PNG")
    return kind


def _named(rng: Random, folder: Path) -> str:
    """Names of images and classes, and links in the place of classes."""
    path = _victim(rng, folder)
    names = [b"\xff\xfe.png", b"a\nb.png", b".hidden.png", b"x" * 250 + b".png", b"A.PNG",
             b"-rf.png", "💥.png".encode(), b"no ending", b"\x1b[2J.png"]  # fmt: skip
    if rng.random() < 0.5:
        name = rng.choice(names)
        os.rename(os.fsencode(path), os.path.join(os.fsencode(path.parent), name))
        return f"the name {name[:20]!r}"
    own, kind = path.parent, rng.choice(["gone", "empty", "loop", "dangling", "new", "file"])
    if kind != "new":
        shutil.rmtree(own)
    else:
        own = own.parent / rng.choice(["c", "\udcff", "a\nb", "c" * 200])
    if kind in ("empty", "new"):
        own.mkdir()
    elif kind in ("loop", "dangling"):
        own.symlink_to(own.name if kind == "loop" else "nowhere")
    elif kind == "file":
        own.write_text("x")
    return f"class {kind}"


_HOSTILE = (_torn, _torn, _giant, _giant, _with_chunk, _odd, _no_image, _form, _named)
