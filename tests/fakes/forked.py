"""Processes that begin as a copy of this one, with PyTorch loaded, which costs seconds to load.

They run a module as `python -m` does, or code as `python -c` does, in their own folder, with their
own environment, arguments and streams. What a new interpreter does first they leave out: a test
about that starts one.
"""

import os
import runpy
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from bench.signals import _Received

GPU = Path("/dev/nvidiactl").exists()  # where PyTorch has used one, a copy of the process cannot


class Forked(subprocess.Popen[Any]):
    """A process for `[sys.executable, "-m", module, *words]` or `-c`, in place of `Popen`."""

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, *rest: Any) -> None:
        _, _, cwd, env, _, _, _, read, write, out, to_out, err, to_err = rest[:13]
        start = next((i for i, word in enumerate(args) if word in ("-m", "-c")), None)
        if GPU or start is None:
            super()._execute_child(args, executable, preexec_fn, *rest)  # type: ignore[misc]
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # that this process has threads
            pid = os.fork()
        if not pid:
            streams = (read, to_out, to_err)
            begin = partial(_begin, streams, cwd, env, preexec_fn, session=rest[-2])
            _run(begin, args[start], args[start + 1], args[start + 2 :])
        self.pid, self._child_created = pid, True
        self._close_pipe_fds(read, write, out, to_out, err, to_err)  # type: ignore[attr-defined]


def _forget_signals() -> None:
    """Handle signals as a new process does: ignored ones stay so, others have no handler."""
    for number in (signal.SIGTERM, signal.SIGCONT, signal.SIGUSR1, signal.SIGUSR2):
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    _Received.number = _Received.heeding = _Received.listening = 0
    _Received.answered = False


def _begin(
    streams: tuple[int, int, int],
    cwd: Path | None,
    env: Mapping[str, str] | None,
    first: Callable[[], None] | None,
    session: bool,
) -> None:
    """Give this process what `Popen` gives a new one."""
    if session:
        os.setsid()
    for number, stream in enumerate(streams):
        if stream >= 0:
            os.dup2(stream, number)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    if env is not None:
        os.environ.clear()
        os.environ.update(env)
    os.chdir(cwd or ".")
    if first:
        first()
    _forget_signals()


def _run(begin: Callable[[], None], kind: str, what: str, words: Sequence[str]) -> NoReturn:
    """Run a module or code as a new process does, and end this one."""
    status = 1
    try:
        begin()
        Path("/proc/self/comm").write_text(what[-15:])  # the name that `ps` shows
        sys.argv = [what if kind == "-m" else kind, *words]
        if kind == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
        else:
            exec(what, {"__name__": "__main__"})
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status)
