"""Differences in provenance that may explain why two results of one cell differ."""

from bench.record import Json

PROCESSOR = "machine.processor"
MODEL = "machine.processor_model"
HARDWARE = (MODEL, "machine.cpu_capability")
CUDA = ("cuda.runtime", "cuda.cudnn", "cuda.driver")
RECORDED_LATER = (
    *HARDWARE, *CUDA, "packages.torchvision", "packages.faiss-cpu", "packages.pycocotools",
)  # fmt: skip
"""Older results lack them."""
CAUSES = (
    "python", "device", "device_name", "dataset", "evaluated_on", PROCESSOR, "code.commit",
    *HARDWARE, *CUDA,
)  # fmt: skip
"""Versions of these are in the provenance, next to the packages."""
OTHER_MODEL = "another processor of the same name may be the reason"


def other_versions(mine: Json, theirs: Json) -> Json:
    """Return the differences in provenance that may change a number.

    Args:
        mine: flat provenance of one result. Keys with the prefix `trained.` describe the encoder.
        theirs: flat provenance of the other result.
    """
    names = sorted(n for n in mine.keys() | theirs.keys() if _is_cause(_plain(n)))
    return {
        n: [mine.get(n), theirs.get(n)]
        for n in names
        if mine.get(n) != theirs.get(n) and not _is_unknown(n, mine, theirs)
    }


def same_model(mine: Json, theirs: Json) -> bool:
    """Return whether both results, and their encoders, used the same processor model.

    Args:
        mine: flat provenance of one result.
        theirs: flat provenance of the other result.
    """
    names = {MODEL}
    if any(n.startswith("trained.") for n in (*mine, *theirs)):
        names.add(f"trained.{MODEL}")
    return all(mine.get(n) is not None and mine.get(n) == theirs.get(n) for n in names)


def only_model(versions: Json) -> bool:
    """Return whether the only difference is the processor model, not its name.

    Args:
        versions: result of `other_versions`.
    """
    return bool(versions) and all(_plain(name) in HARDWARE for name in versions)


def tells_processors(versions: Json) -> bool:
    """Return whether the names or models of the processors are known to differ.

    Args:
        versions: result of `other_versions`.
    """
    return any(_plain(name) in (PROCESSOR, MODEL) for name in versions)


def _plain(name: str) -> str:
    return name.removeprefix("trained.")


def _is_cause(name: str) -> bool:
    return name in CAUSES or name.startswith("packages.")


def _is_unknown(name: str, mine: Json, theirs: Json) -> bool:
    """Whether one side was written before the name was recorded: that is no difference."""
    lacks = mine.get(name) is None or theirs.get(name) is None
    return lacks and _plain(name) in RECORDED_LATER
