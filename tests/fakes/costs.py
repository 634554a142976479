"""What one piece of work costs against another, in CPU-seconds of a busy machine."""

import gc
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count


def here_s(work: Callable[[], object]) -> float:
    """Return the CPU-seconds of work in this process, without Python's garbage collection.

    The collection looks at all that earlier tests left behind. `timeit` turns it off as well.
    """
    gc.disable()
    began = time.process_time()
    try:
        work()
        return time.process_time() - began
    finally:
        gc.enable()


def alone_s(code: str) -> float:
    """Return the CPU-seconds of a Python process that does nothing but run this code."""
    at_end = (
        "import atexit, sys, time\n"
        "atexit.register(lambda: print(time.process_time(), file=sys.stderr))\n"
    )
    command = [sys.executable, "-c", at_end + code]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return float(answer.stderr.split()[-1])


def costs_below(
    times: float, work: Callable[[], float], yardstick: Callable[[], float], rounds: int = 12
) -> bool:
    """Return whether work takes fewer seconds than `times` those of the yardstick.

    The two take turns, and the fastest round of each counts: other load on the machine only slows.
    More rounds bring both nearer to what they cost alone, so at most `rounds` are run until it
    holds, and at least two.
    """
    fastest = fastest_yardstick = float("inf")
    for done in count(1):
        fastest = min(fastest, work())
        fastest_yardstick = min(fastest_yardstick, yardstick())
        if done >= 2 and fastest < times * fastest_yardstick:
            return True
        if done == rounds:
            return False
    raise AssertionError
