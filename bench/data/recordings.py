"""Load recordings: mono, resampled, and normalised to zero mean and unit variance.

Axes: n recordings, T samples. Sets of up to MOST_BYTES are read and checked at once. Recordings of
larger sets are read on demand.
"""

import io
import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.cells.speech import AUDIO_SETS, TASKS, TONES
from bench.data.images import fingerprint_of, share_of_each_class
from bench.data.load import HELD_OUT_SEED
from bench.data.recording_lists import ListedRecording, list_recordings
from bench.data.streams import Purpose, stream
from bench.errors import Damaged, DataTorn, StoreError
from bench.files.regular import read_regular

MOST_BYTES = 2 * 10**9  # of all files of a set that is kept in memory
MOST_OF_FILE = 10**9
FORMATS = ("WAV", "WAVEX", "FLAC")  # by their content, whatever the name ends in
RATES = (1000, 400_000)  # Hz, of a file
LOUDEST = 1e6  # full scale is 1
Wave = np.ndarray[Any, np.dtype[np.float32]]
TONES_SEED = 2006  # the same tones for every cell
SPEAKERS = WORDS = 4  # of the tones


@dataclass(frozen=True, eq=False)
class LabelledRecordings:
    """Recordings of one part with labels for each task, int64 (n,); -1 means unlabelled."""

    waves: Sequence[Tensor]
    labels: dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Corpus:
    """A set of recordings; `classes` lists the tasks with labels."""

    name: str
    classes: dict[str, int]
    fingerprint: str
    train: LabelledRecordings
    test: LabelledRecordings


class _OnDisk(Sequence[Any]):
    """Waves that are read when they are needed."""

    def __init__(self, rows: Sequence[ListedRecording], sample_rate: int, least: int) -> None:
        self._rows, self._sample_rate, self._least = rows, sample_rate, least

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        path = self._rows[index].path
        return torch.from_numpy(_wave(_bytes(path), path, self._sample_rate, self._least))

    def of(self, places: Sequence[int]) -> "_OnDisk":
        """Return the waves at these places."""
        return _OnDisk([self._rows[i] for i in places], self._sample_rate, self._least)


def load_recordings(
    name: str, root: Path, *, sample_rate: int, least: int, held_out: float | None = None
) -> Corpus:
    """Return a set of recordings with zero mean and unit variance each.

    Args:
        name: `tones`, a known corpus, or the name of a folder below the root.
        root: the folder of data sets.
        sample_rate: sampling rate after resampling, in Hz.
        least: minimum length of a recording, in samples.
        held_out: share of each class's training recordings that becomes the test part.

    Raises:
        DataMissing: the set is missing.
        DataTorn: a recording is damaged, too short or not audio, or the table is invalid.
        DataError: a class is in the test part only.
    """
    waves: Sequence[Tensor]
    if name == TONES:
        rows, waves = _tones(sample_rate)
        marks = [f"{sample_rate} {TONES_SEED}"] * len(rows)
    else:
        rows = list_recordings(name, root)
        sizes = [_size(row.path) for row in rows]
        waves, marks = _OnDisk(rows, sample_rate, least), [f"{size}" for size in sizes]
        if sum(sizes) <= MOST_BYTES:
            marks = [
                f"{size} {zlib.crc32(_bytes(r.path))}" for r, size in zip(rows, sizes, strict=True)
            ]
            waves = list(waves)
    start = len((root / name).as_posix()) + 1
    signatures = (
        f"{row.path.as_posix()[start:]} {row.part} {row.speaker} {row.word} {mark}".encode()
        for row, mark in zip(rows, marks, strict=True)
    )
    return _corpus(name, rows, waves, fingerprint_of(signatures), held_out)


def _corpus(
    name: str,
    rows: Sequence[ListedRecording],
    waves: Sequence[Tensor],
    fingerprint: str,
    held_out: float | None,
) -> Corpus:
    """Return the set, its parts chosen; labels count the sorted names of the training part."""
    is_test = np.array([row.part == "test" for row in rows])
    tasks = [task for task in TASKS if any(getattr(row, task) for row in rows)]
    names = {t: sorted({getattr(r, t) for r in rows if r.part == "train"}) for t in tasks}
    labels = {t: np.array([names[t].index(getattr(r, t)) for r in rows]) for t in tasks}
    chosen = {"train": ~is_test, "test": is_test}
    if held_out is not None:
        both = np.zeros(len(rows), dtype=np.int64)
        for task in tasks:
            both = both * len(names[task]) + labels[task]
        both[is_test] = -1
        out = share_of_each_class(both, held_out, stream(HELD_OUT_SEED, Purpose.DATA))
        chosen = {"train": ~is_test & ~out, "test": out}
    parts = {}
    for part, taken in chosen.items():
        places = np.flatnonzero(taken).tolist()
        own = waves.of(places) if isinstance(waves, _OnDisk) else [waves[i] for i in places]
        parts[part] = LabelledRecordings(
            own, {t: torch.from_numpy(labels[t][places]) for t in tasks}
        )
    classes = {task: len(names[task]) for task in tasks}
    return Corpus(name, classes, fingerprint, parts["train"], parts["test"])


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError) as fault:  # the latter: a name with a zero byte
        why = getattr(fault, "strerror", None) or fault
        raise DataTorn(f"{path}: the file cannot be read ({why})") from fault


def _bytes(path: Path) -> bytes:
    try:
        content = read_regular(path, MOST_OF_FILE)
    except (Damaged, StoreError) as fault:
        raise DataTorn(str(fault)) from fault
    if not content:
        raise DataTorn(f"{path}: this file {'does not exist' if content is None else 'is empty'}")
    return content


def _wave(content: bytes, path: Path, sample_rate: int, least: int) -> Wave:
    """Return a recording as float32 (T,).

    Args:
        content: of the file.
        path: of the file, for error lines.
        sample_rate: Hz, that it is resampled to.
        least: samples that it must have then.

    Raises:
        DataTorn: it is no recording, or none that a network can hear.
    """
    import soundfile
    from scipy.signal import resample_poly

    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            rate, form = file.samplerate, file.format
            samples = file.read(dtype="float32", always_2d=True) if form in FORMATS else None
    except Exception as fault:  # libsndfile's and Python's own
        why = str(fault).rpartition(": ")[2].rstrip(".")  # without the name of a buffer
        raise DataTorn(f"{path}: the file is not a readable recording ({why})") from fault
    if samples is None:
        raise DataTorn(f"{path}: the file holds {form}, but only WAV and FLAC can be read")
    if _is_cut(content):
        raise DataTorn(f"{path}: the file is cut off; its header announces more samples")
    if not RATES[0] <= rate <= RATES[1]:
        raise DataTorn(
            f"{path}: the sampling rate is {rate} Hz, but must be {RATES[0]} to {RATES[1]} Hz"
        )
    if not np.isfinite(samples).all() or np.abs(samples).max(initial=0.0) > LOUDEST:
        raise DataTorn(
            f"{path}: the file holds samples that are not finite, or of magnitude above {LOUDEST:g}"
        )
    wave = samples.mean(axis=1, dtype=np.float64)
    if rate != sample_rate and len(wave):
        divisor = math.gcd(rate, sample_rate)
        wave = resample_poly(wave, sample_rate // divisor, rate // divisor)
    if len(wave) < least:
        raise DataTorn(
            f"{path}: the recording has {len(wave)} samples at {sample_rate} Hz, but at "
            f"least {least} are needed"
        )
    return normalised(wave)


def _is_cut(content: bytes) -> bool:
    """Return whether a WAV ends before its samples do, which libsndfile takes for their end.

    A program that writes into a pipe does not know the length and states a very large one.
    """
    place = 12  # behind RIFF, the size and WAVE
    order = {b"RIFF": "<", b"RIFX": ">"}.get(content[:4])
    while order and place + 8 <= len(content):
        kind, size = struct.unpack_from(f"{order}4sI", content, place)
        place += 8
        if kind == b"data":
            return bool(len(content) - place < size <= MOST_OF_FILE)
        place += size + size % 2
    return False


def normalised(wave: np.ndarray[Any, np.dtype[np.float64]]) -> Wave:
    """Return a waveform with zero mean and unit variance, float32; silence stays 0."""
    centred = wave - wave.mean()
    scaled: Wave = (centred / math.sqrt(centred.var() + 1e-12)).astype(np.float32)
    return scaled


def _tones(sample_rate: int) -> tuple[list[ListedRecording], list[Tensor]]:
    """Return drawn sounds of 0.3 s: a speaker is a timbre and a height, a word how it glides."""
    draw, time = stream(TONES_SEED, Purpose.DATA), np.arange(int(0.3 * sample_rate)) / sample_rate
    rows, waves = [], []
    for place in range(sum(AUDIO_SETS[TONES])):
        speaker, word = place % SPEAKERS, place // SPEAKERS % WORDS
        part = "train" if place < AUDIO_SETS[TONES].train else "test"
        glide = (word - 1.5) * (time - 0.15) * 2 + 0.2 * np.sin(2 * np.pi * 8 * word * time)
        hertz = 150 * 1.3**speaker * np.exp(glide + draw.normal(0, 0.03))
        phase = 2 * np.pi * np.cumsum(hertz) / sample_rate + draw.uniform(0, 2 * np.pi)
        strengths = [1.0, 0.9 - 0.2 * speaker, 0.3 * speaker]
        sound = sum(s * np.sin((k + 1) * phase) for k, s in enumerate(strengths))
        sound = sound + draw.normal(0, 0.1, len(time))
        rows.append(ListedRecording(Path(f"{place}.wav"), part, f"{speaker}", f"{word}"))
        waves.append(torch.from_numpy(normalised(sound)))
    return rows, waves


def crop(wave: Tensor, length: int, draw: np.random.Generator) -> Tensor:
    """Return a random crop of a waveform, at most this many samples long."""
    spare = len(wave) - length
    begin = int(draw.integers(spare + 1)) if spare > 0 else 0
    return wave[begin : begin + length]


def log_mel(wave: Tensor, sample_rate: int, bands: int = 40) -> Tensor:
    """Return mean, then standard deviation over time, of log-mel energies, shape (2 bands,).

    Frames are 25 ms long, every 10 ms.
    """
    from transformers.audio_utils import mel_filter_bank

    window, hop = round(0.025 * sample_rate), round(0.010 * sample_rate)
    size = 2 ** math.ceil(math.log2(window))
    filters = mel_filter_bank(
        num_frequency_bins=size // 2 + 1, num_mel_filters=bands, min_frequency=0.0,
        max_frequency=sample_rate / 2, sampling_rate=sample_rate, norm="slaney", mel_scale="slaney",
    )  # fmt: skip
    padded = torch.nn.functional.pad(wave, (0, max(0, window - len(wave))))
    spectrum = torch.stft(
        padded, size, hop, window, torch.hann_window(window), return_complex=True, center=True,
        pad_mode="constant",
    )  # fmt: skip
    energies = torch.from_numpy(filters).float().T @ spectrum.abs().square()
    logs = energies.clamp(min=1e-8).log()
    return torch.cat([logs.mean(dim=1), logs.std(dim=1, correction=0)])
