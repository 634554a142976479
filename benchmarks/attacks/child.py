"""One action in a child process of its own, with a limit on its time and its memory."""

import gc
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from bench import cli
from bench.cli.app import VERBS

SECONDS = 30.0  # of a core; then the child hangs: what is tried takes a second or two
PATIENCE = 5.0  # times as long by the clock: other processes may have the cores
MOST_BYTES = 2 * 2**30
LOOK_S = 0.01

Action = Callable[[], None]


@dataclass(frozen=True)
class Answer:
    """What a child process left behind."""

    status: int  # as `subprocess` has it: negative where a signal ended it
    out: str
    err: str
    peak_bytes: int
    hangs: bool

    @property
    def last_line(self) -> str:
        """The last line on standard error."""
        return (self.err.strip().splitlines() or [""])[-1]

    @property
    def refuses(self) -> bool:
        """Whether a mistake was told, in one line."""
        return self.status == 2 and self.last_line.startswith("bench: ")


def load_modules() -> None:
    """Import what the verbs need, so that a child, which is a copy of this process, need not."""
    import torch

    from bench.data.images import load_digits
    from bench.papers.reader import PAPERS, load_paper
    from bench.suites.presets import paper_presets

    torch.set_num_threads(1)
    load_digits(), paper_presets(), [load_paper(name) for name in PAPERS]  # each kept
    for verb in VERBS.values():
        import_module(f"bench.cli.{verb.module}")
    for name in ("gaussian_mi", "gradient_norm", "pretrain", "spirals", "vince_gaussian"):
        import_module(f"bench.experiments.{name}")
    for name in ("torch._dynamo", "sklearn.datasets", "bench.experimental.gpu_usage"):
        import_module(name)  # the first by optimisers, when the first is made
    gc.collect()
    gc.freeze()  # what children leave untouched they need not copy


def bench(
    cwd: Path, *words: str, seconds: float = SECONDS, before: Action = lambda: None
) -> Answer:
    """Run the command line in a folder.

    Args:
        cwd: the folder.
        words: of the command line, without `bench`.
        seconds: of a core, after which it hangs; so it does after PATIENCE times as many in all.
        before: done first in the child, such as setting a limit.
    """

    def run() -> None:
        before()
        sys.argv = ["bench", *words]
        cli.main()

    return in_child(run, cwd, seconds)


def in_child(
    action: Action,
    cwd: Path,
    seconds: float = SECONDS,
    environment: Mapping[str, str] = {},
) -> Answer:
    """Do something in a copy of this process; end it after so many seconds, or at MOST_BYTES."""
    with tempfile.TemporaryDirectory(prefix="attack-") as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        pid = start(action, cwd, out, err, environment)
        status, peak, hangs = _wait(pid, seconds)
        return Answer(status, _text(out), _text(err), peak, hangs)


def start(
    action: Action,
    cwd: Path,
    out: Path,
    err: Path,
    environment: Mapping[str, str] = {},
) -> int:
    """Begin an action in a copy of this process, in a session of its own; return its number."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    _be_child(action, cwd, (out, err), environment)


def _be_child(
    action: Action, cwd: Path, files: tuple[Path, Path], environment: Mapping[str, str]
) -> NoReturn:
    status = 70
    try:
        os.setsid()
        for number, path in enumerate(files, start=1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.chdir(cwd)
        for name in ("BENCH_RESULTS", "BENCH_SUITES", "BENCH_DATA"):
            os.environ.pop(name, None)
        os.environ.update(environment)
        action()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:  # what the interpreter would print
        traceback.print_exc()
        status = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                status = status or 1
        os._exit(status)


def _wait(pid: int, seconds: float) -> tuple[int, int, bool]:
    """Return how a child ended, its largest memory in bytes, and whether its time was over."""
    deadline, hangs = time.monotonic() + PATIENCE * seconds, False
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            kill_group(pid)  # what it left running
            return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024, hangs
        late = time.monotonic() > deadline or cpu_s(pid) > seconds
        if late or resident_bytes(pid) > MOST_BYTES:
            hangs = hangs or late
            kill_group(pid)
        time.sleep(LOOK_S)


def kill_group(pid: int) -> None:
    """Kill a child that was started here, and what it started."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def resident_bytes(pid: int) -> int:
    """Return how much memory a process has now; 0 if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def cpu_s(pid: int) -> float:
    """Return how many seconds of a core a process has used; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
