"""Recordings: what a folder may hold, and one clear line for each that cannot be heard."""

import gzip
import io
import os
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bench.data.recordings import load_recordings, log_mel
from bench.errors import BenchError

soundfile = pytest.importorskip("soundfile")
TONE = np.sin(np.arange(4000) * 0.3).astype(np.float32)
Change = Callable[[Path], Any]


def sound(wave: Any = TONE, rate: int = 8000, **how: str) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, wave, rate, **({"format": "WAV"} | how))
    return file.getvalue()


def of_a_pipe() -> bytes:
    """Return a WAV whose head gives the largest length, as a program writes it into a pipe."""
    whole = bytearray(sound())
    place = whole.index(b"data") + 4
    whole[4:8] = whole[place : place + 4] = b"\xff" * 4
    return bytes(whole)


def with_number(place: int, form: str, value: int) -> bytes:
    """Return a WAV with another number in its head."""
    whole = bytearray(sound())
    struct.pack_into(form, whole, place, value)
    return bytes(whole)


def big_endian() -> bytes:
    head = struct.pack(">HHIIHH", 1, 1, 8000, 16000, 2, 16)
    samples = struct.pack(">4sI8000s", b"data", 8000, b"\1\2\3\4" * 2000)
    return struct.pack(">4sI8sI", b"RIFX", 8036, b"WAVEfmt ", 16) + head + samples


def put(folder: Path, name: str, content: bytes = sound()) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def table(folder: Path, *lines: str, heads: str = "file,part,speaker,word") -> None:
    put(folder, "recordings.csv", "\n".join([heads, *lines]).encode())


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Return a folder with two words, in both parts."""
    for part in ("train", "test"):
        for word in ("no", "yes"):
            put(tmp_path / "mine", f"{part}/{word}/a.wav")
    return tmp_path / "mine"


def load(folder: Path, **settings: Any) -> Any:
    return load_recordings(
        folder.name, folder.parent, **({"sample_rate": 8000, "least": 60} | settings)
    )


def wave_of(folder: Path, content: bytes, name: str = "a.wav", **settings: Any) -> torch.Tensor:
    """Return the first training recording, once a file of it has been replaced."""
    (folder / "train/no/a.wav").unlink()
    put(folder, f"train/no/{name}", content)
    wave: torch.Tensor = load(folder, **settings).train.waves[0]
    return wave


@pytest.mark.parametrize(
    ("content", "name", "length"),
    [
        (sound(np.stack([TONE, TONE], axis=1)), "stereo.wav", 4000),
        (sound(np.stack([TONE, -TONE], axis=1), subtype="FLOAT"), "silent-stereo.wav", 4000),
        (sound(subtype="PCM_24"), "deep.wav", 4000),
        (sound(subtype="DOUBLE"), "double.WAV", 4000),
        (sound(format="FLAC"), "a.flac", 4000),
        (sound(rate=16000), "fast.wav", 2000),
        (sound(rate=44100), "odd.wav", 726),
        (sound(np.zeros(4000, np.float32)), "silent.wav", 4000),
        (sound(np.tile(TONE, 1200)), "ten-minutes.wav", 4_800_000),
        (of_a_pipe(), "pipe.wav", 4000),
        (sound(format="WAVEX"), "extensible.wav", 4000),
        (big_endian(), "big.wav", 4000),
    ],
)
def test_recordings_of_every_form_become_one_channel_of_one_rate(
    mine: Path, content: bytes, name: str, length: int
) -> None:
    wave = wave_of(mine, content, name)
    assert wave.dtype == torch.float32
    assert len(wave) == length
    assert bool(wave.isfinite().all())
    assert wave.std().item() == pytest.approx(0.0 if "silent" in name else 1.0, abs=1e-2)


def flac_with_a_hole() -> bytes:
    whole = bytearray(sound(np.random.default_rng(0).normal(0, 0.1, 20_000), format="FLAC"))
    whole[len(whole) // 2 : len(whole) // 2 + 2000] = bytes(2000)
    return bytes(whole)


LOUD = np.full((4000, 2), [np.inf, -np.inf], np.float32)
BAD: list[tuple[bytes, str]] = [
    (b"", "this file is empty"),
    (b"no sound", r"the file is not a readable recording \([^<]*\)"),
    (sound()[:20], r"the file is not a readable recording \([^<]*\)"),
    (b"RIFF\0\0\0\0WAVE", r"the file is not a readable recording \([^<]*\)"),
    (b"\x89PNG\r\n\x1a\n" + bytes(100), r"the file is not a readable recording \([^<]*\)"),
    (b"fLaC" + bytes(60), r"the file is not a readable recording \([^<]*\)"),
    (sound()[:5000], "the file is cut off; its header announces more samples"),
    (sound()[:-1], "the file is cut off; its header announces more samples"),
    (sound(subtype="PCM_24")[:-3], "the file is cut off; its header announces more samples"),
    (sound(format="FLAC")[:-400], r"the file is not a readable recording \([^<]*\)"),
    (flac_with_a_hole(), r"the file is not a readable recording \([^<]*\)"),
    (
        sound(np.zeros(0, np.float32)),
        "the recording has 0 samples at 8000 Hz, but at least 60 are needed",
    ),
    (sound(TONE[:1]), "the recording has 1 samples at 8000 Hz, but at least 60 are needed"),
    (sound(TONE[:59]), "the recording has 59 samples at 8000 Hz, but at least 60 are needed"),
    (
        sound(TONE[:100], rate=16000),
        "the recording has 50 samples at 8000 Hz, but at least 60 are needed",
    ),
    (sound(TONE, rate=10), "the sampling rate is 10 Hz, but must be 1000 to 400000 Hz"),
    (sound(TONE, rate=500_000), "the sampling rate is 500000 Hz, but must be 1000 to 400000 Hz"),
    (
        sound(np.where(np.arange(4000) == 7, np.nan, TONE), subtype="FLOAT"),
        "the file holds samples that are not finite, or of magnitude above 1e[+]06",
    ),
    (
        sound(np.where(np.arange(4000) == 7, np.inf, TONE), subtype="FLOAT"),
        "the file holds samples that are not finite, or of magnitude above 1e[+]06",
    ),
    (
        sound(1e30 * TONE, subtype="FLOAT"),
        "the file holds samples that are not finite, or of magnitude above 1e[+]06",
    ),
    (
        sound(1e300 * TONE.astype(float), subtype="DOUBLE"),
        "the file holds samples that are not finite, or of magnitude above 1e[+]06",
    ),
    (
        sound(LOUD, subtype="FLOAT"),
        "the file holds samples that are not finite, or of magnitude above 1e[+]06",
    ),
    (
        sound(np.where(np.arange(8000).reshape(4000, 2) == 7, np.nan, 0.1), subtype="FLOAT"),
        "the file holds samples that are not finite, or of magnitude above 1e[+]06",
    ),
    *[
        (
            sound(TONE, 8000, format=form, **how),
            f"the file holds {form}, but only WAV and FLAC can be read",
        )
        for form, how in [
            ("MP3", {}),
            ("OGG", {}),
            ("OGG", {"subtype": "OPUS"}),
            ("AIFF", {}),
            ("CAF", {}),
            ("RF64", {}),
            ("MAT5", {"subtype": "DOUBLE"}),
        ]
    ],
    (big_endian()[:-3000], "the file is cut off; its header announces more samples"),
    (sound()[:44], "the file is cut off; its header announces more samples"),
    (sound() + sound(), r"the file is not a readable recording \([^<]*\)"),
    (b"\xef\xbb\xbf" + sound(), r"the file is not a readable recording \([^<]*\)"),
    (gzip.compress(sound()), r"the file is not a readable recording \([^<]*\)"),
    (
        b"version https://git-lfs.github.com/spec/v1\n",
        r"the file is not a readable recording \([^<]*\)",
    ),
    (
        with_number(20, "<H", 0x55),
        r"the file is not a readable recording \([^<]*\)",
    ),  # MP3 in a WAV
    (with_number(22, "<H", 0), r"the file is not a readable recording \([^<]*\)"),  # channels
    (with_number(22, "<H", 2000), r"the file is not a readable recording \([^<]*\)"),
    (with_number(24, "<I", 0), r"the file is not a readable recording \([^<]*\)"),  # Hz
    (with_number(24, "<I", 2**32 - 1), r"the file is not a readable recording \([^<]*\)"),
    (sound().replace(b"fmt ", b"junk"), r"the file is not a readable recording \([^<]*\)"),
    (sound().replace(b"data", b"junk"), r"the file is not a readable recording \([^<]*\)"),
    (sound(format="FLAC")[:42], r"the file is not a readable recording \([^<]*\)"),
]


@pytest.mark.parametrize(("content", "why"), BAD)
def test_a_bad_recording_is_one_line(mine: Path, content: bytes, why: str) -> None:
    with pytest.raises(BenchError, match=f"^{re.escape(str(mine))}/train/no/b.wav: {why}$"):
        wave_of(mine, content, "b.wav")


def folder_in_place(mine: Path) -> None:
    (mine / "train/no/b.wav").mkdir()


def pipe_in_place(mine: Path) -> None:
    os.mkfifo(mine / "train/no/b.wav")


def link_in_place(mine: Path) -> None:
    (mine / "train/no/b.wav").symlink_to(mine / "nowhere")


def word_of_test_alone(mine: Path) -> None:
    put(mine, "test/maybe/a.wav")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (folder_in_place, "train/no/b.wav: this is not a regular file"),
        (pipe_in_place, "train/no/b.wav: this is not a regular file"),
        (
            link_in_place,
            "train/no/b.wav: the file cannot be read .*|train/no/b.wav: this is a link whose "
            "target does not exist",
        ),
        (
            word_of_test_alone,
            "test/maybe/a.wav: the word maybe occurs only in the test part, not in the train part",
        ),
        (lambda f: table(f, heads="file,part"), "recordings.csv: the table has no rows"),
        (
            lambda f: table(f, "a.wav,train", heads="file,parts"),
            "recordings.csv: the table must have the columns .*; there is no column 'part'",
        ),
        (
            lambda f: table(f, "a.wav,train,x,y,z", heads="file,part,word,age,speaker"),
            "recordings.csv: the table must have the columns .*; the column 'age' is not allowed",
        ),
        (
            lambda f: table(f, "a.wav,train,x,y", heads="file,part,word,word"),
            "recordings.csv: the column 'word' is given twice",
        ),
        (
            lambda f: table(f, "a.wav,train,x,Yes", "b.wav,test,x,yes "),
            "b.wav: the word 'yes ' and 'Yes' of .*/a.wav differ only in "
            "case or spaces; write both in the same way, or choose "
            "different names",
        ),
        (
            lambda f: put(f, "train/NO/a.wav"),
            "train/no/a.wav: the word 'no' and 'NO' of .*/train/NO/a.wav differ only in case .*",
        ),
        (
            lambda f: table(f, "a.wav,train,ann,yes", "b.wav,test,bob,yes"),
            "b.wav: the speaker bob occurs only in the test part, not in "
            "the train part; to test words on new speakers, remove the "
            "column `speaker` from recordings.csv",
        ),
        (
            lambda f: put(f, "train/no/ann/b.wav"),
            "train/no/ann/b.wav: recordings must be placed as train/<word>/<file>, or "
            "listed in a file recordings.csv",
        ),
        (
            lambda f: put(f, "test/b.wav"),
            "test/b.wav: recordings must be placed as test/<word>/<file>, or listed in "
            "a file recordings.csv",
        ),
        (lambda f: put(f, "train/no/b.mp3"), "train/no/b.mp3: only WAV and FLAC files can be read"),
        (
            lambda f: put(f, "train/no/b\n\x1b[2J.wav", b""),
            r"train/no/b\\n\\x1b\[2J.wav: this file is empty",
        ),
        (
            lambda f: (f / "test/no/b.wav").symlink_to("b.wav"),
            "test/no/b.wav: the file cannot be read .*",
        ),
        (
            lambda f: table(f, "a.wav,train,x"),
            "recordings.csv: line 2: the row does not have as many fields as the header",
        ),
        (lambda f: table(f, "a.wav,dev,x,y"), ".*: part must be train or test, found 'dev'"),
        (
            lambda f: table(f, "../a.wav,train,x,y"),
            ".*: line 2: the file '../a.wav' must lie below .*",
        ),
        (lambda f: table(f, "/a.wav,train,x,y"), ".*: line 2: the file '/a.wav' must lie below .*"),
        (lambda f: table(f, "a.wav,train,,y"), "recordings.csv: line 2: the speaker is missing"),
        (lambda f: table(f, "a.wav,train,x, "), "recordings.csv: line 2: the word is missing"),
        (
            lambda f: table(f, "a\0.wav,train,x,y"),
            r"a\\x00.wav: the file cannot be read .*null byte.",
        ),
        (
            lambda f: table(f, "a.wav,train,x,y", "./a.wav,test,x,y"),
            ".*: line 3: the file './a.wav' is listed twice",
        ),
        (
            lambda f: table(f, *["a.wav,train,x,y"] * 2),
            ".*: line 3: the file 'a.wav' is listed twice",
        ),
        (
            lambda f: table(f, "a.wav,train,x,y"),
            "a.wav: this file does not exist|a.wav: the file cannot be read .*",
        ),
        (
            lambda f: put(f, "recordings.csv", b"\xff\xfe"),
            ".*: the file cannot be read as a table: .*",
        ),
    ],
)
def test_a_bad_folder_or_table_is_one_line(mine: Path, change: Change, why: str) -> None:
    change(mine)
    with pytest.raises(BenchError, match=f"^{re.escape(str(mine))}/(?:{why})$") as fault:
        load(mine)
    assert "\n" not in str(fault.value)


def test_hidden_files_and_folders_are_no_recordings(mine: Path) -> None:
    for name in ("train/no/._a.wav", "train/.cache/a.wav", "test/no/.old/a.wav", "test/.a.mp3"):
        put(mine, name, b"no sound")
    corpus = load(mine)
    assert corpus.classes == {"word": 2}
    assert (len(corpus.train.waves), len(corpus.test.waves)) == (2, 2)


def test_a_missing_folder_says_what_is_expected(tmp_path: Path) -> None:
    where = "recordings.csv, or train/<word>/*.wav and test/<word>/*.wav (or .flac)"
    text = (
        f"mine: {tmp_path / 'mine'} has no recordings; the folder needs {where}; "
        "see docs/how-to/speech.md."
    )
    with pytest.raises(BenchError, match=f"^{re.escape(text)}$"):
        load(tmp_path / "mine")


def test_a_table_gives_both_labels_and_a_name_gives_those_of_digits(tmp_path: Path) -> None:
    rows = []
    for part in ("train", "test"):
        for speaker in "ab":
            for word in "xy":
                put(tmp_path / "mine", name := f"{part}-{speaker}{word}.wav")
                rows.append(f"{name},{part},{speaker},{word}")
    table(tmp_path / "mine", *rows)
    for index in (0, 5):
        for digit in range(2):
            put(tmp_path / "fsdd/recordings", f"{digit}_ann_{index}.wav")
            put(tmp_path / "fsdd/recordings", f"{digit}_bob_{index}.wav")
    for folder in ("mine", "fsdd"):
        corpus = load(tmp_path / folder)
        assert corpus.classes == {"speaker": 2, "word": 2}
        for part in (corpus.train, corpus.test):
            assert {task: labels.tolist() for task, labels in part.labels.items()} == (
                {"speaker": [0, 0, 1, 1], "word": [0, 1, 0, 1]}
                if folder == "mine"
                else {"speaker": [0, 1, 0, 1], "word": [0, 0, 1, 1]}
            )


def test_published_corpora_are_read_as_they_are(tmp_path: Path) -> None:
    put(tmp_path / "librispeech", "train-clean-100/19/198/19-198-0000.flac", sound(format="FLAC"))
    for part in ("train", "test"):
        put(tmp_path / "fluent-speech-commands", f"wavs/speakers/{part}.wav")
        lines = f"path,action,object,location\nwavs/speakers/{part}.wav,a,o,l\n"
        put(tmp_path / "fluent-speech-commands", f"data/{part}_data.csv", lines.encode())
    split = "1 id1/v/1.wav\n2 id1/v/2.wav\n3 id1/v/3.wav\n"
    put(tmp_path / "voxceleb1", "iden_split.txt", split.encode())
    for name in ("1.wav", "3.wav"):
        put(tmp_path / "voxceleb1", f"wav/id1/v/{name}")
    libri, vox, fluent = (
        load(tmp_path / name) for name in ("librispeech", "voxceleb1", "fluent-speech-commands")
    )
    assert (libri.classes, len(libri.train.waves)) == ({}, 1)
    assert (vox.classes, len(vox.train.waves), len(vox.test.waves)) == ({"speaker": 1}, 1, 1)
    assert (fluent.classes, len(fluent.test.waves)) == ({"word": 1}, 1)


def test_a_large_set_is_read_when_it_is_heard(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load(mine)
    monkeypatch.setattr("bench.data.recordings.MOST_BYTES", 10)
    lazy = load(mine)
    assert torch.equal(whole.train.waves[1], lazy.train.waves[1])
    put(mine, "train/yes/a.wav", b"torn")
    assert torch.equal(whole.train.waves[0], lazy.train.waves[0])
    with pytest.raises(BenchError, match="the file is not a readable recording"):
        lazy.train.waves[1]


def test_held_out_recordings_take_the_place_of_the_test_part() -> None:
    def tones(**settings: Any) -> Any:
        return load_recordings("tones", Path(), sample_rate=8000, least=60, **settings)

    whole, search = tones(), tones(held_out=0.5)
    assert len(search.train.waves) + len(search.test.waves) == len(whole.train.waves)
    for task in ("speaker", "word"):
        counts = search.test.labels[task].bincount()
        assert counts.min() == counts.max()


def test_log_mel_energies_tell_how_high_a_tone_is() -> None:
    time = torch.arange(4000) / 8000
    low, high = (log_mel(torch.sin(6.283 * hertz * time), 8000)[:40] for hertz in (300.0, 3000.0))
    assert low.argmax() < 10 < 25 < high.argmax()
