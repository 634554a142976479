"""What of a cell says how long it takes: its kind, the cells like it, its work by part."""

from typing import NamedTuple

from bench.config.flops import ARCHITECTURES, multiply_adds
from bench.config.linear_protocols import LINEAR_PROTOCOLS
from bench.config.pretrain import Pretrain
from bench.config.record import Cell
from bench.config.sizes import GUESS, SIZES
from bench.config.supervised import Supervised

_SIZES: dict[str, tuple[str, ...]] = {
    "gaussian-mi": ("K", "d", "hidden_units"),
    "optimal-bound": ("K", "d"),
    "gradient-norm": ("K", "d"),
    "identity": ("identity", "N", "d"),
    "vince-gaussian": ("K", "dataset_size", "hidden_units"),
    "spirals": ("source", "batch_size", "hidden_units"),
}
"""Settings beside the multiply-adds that move the seconds a multiply-add takes."""
_BACKWARD_TOO = 3  # a step's multiply-adds, in forward passes


class Work(NamedTuple):
    """Multiply-adds of a cell, by who pays for them."""

    shared: float  # the training that all cells with one `training` share; 0 where there is none
    own: float


class Keys(NamedTuple):
    """What finished cells are looked up by, the nearest first."""

    alike: str  # all settings but the seed
    kind: str
    family: str  # the same network or the like, at another batch size
    experiment: str


def kind_of(cell: Cell) -> str:
    """Return the name of the cells that take equally long a multiply-add."""
    if isinstance(cell, Pretrain | Supervised):
        return f"{_family(cell)} batch {cell.batch_size}"
    sizes = {name: getattr(cell, name) for name in _SIZES.get(cell.experiment, ())}
    return " ".join([cell.experiment, *(f"{k}={v}" for k, v in sizes.items())])


def _family(cell: Cell) -> str:
    if not isinstance(cell, Pretrain | Supervised):
        return cell.experiment
    low = "" if cell.precision == "float32" else f" {cell.precision}"
    size = f"width {cell.width} {cell.image_size} px"
    return f"{cell.experiment} {cell.arch}/{cell.stem} {size}{low}"


def keys_of(cell: Cell) -> Keys:
    """Return what finished cells are looked up by."""
    alike = cell.model_dump_json(exclude={"seed"})
    return Keys(alike, kind_of(cell), _family(cell), cell.experiment)


def evaluations_of(cell: Cell) -> str:
    """Return which evaluations a cell asks for, those of equal cost alike; empty for none."""
    if not isinstance(cell, Pretrain):
        return ""
    return f"{cell.linear} {cell.few_shot} {cell.few_shot_draws} {cell.weights_K}"


def training_of(cell: Cell) -> str | None:
    """Return the id of the training that the cell shares with others, if it does."""
    return cell.training_id if isinstance(cell, Pretrain) else None


def work_of(cell: Cell) -> Work:
    """Return the multiply-adds of a cell by part."""
    if isinstance(cell, Pretrain):
        return Work(cell.multiply_adds, _evaluation(cell))
    return Work(0.0, cell.multiply_adds)


def _evaluation(cell: Pretrain) -> float:
    """Features of all images, two views of the test images, and the linear classifier."""
    size = SIZES.get(cell.dataset, GUESS)
    images = min(cell.train_images or size.train, size.train)
    one = multiply_adds(cell.arch, cell.stem, cell.width, cell.image_size)
    work = one * (images + 3 * size.test)
    if cell.linear is not None:
        shape = ARCHITECTURES[cell.arch]
        features = cell.width * shape.widening * 2 ** (len(shape.blocks) - 1)
        features *= 4 if shape.bottleneck else 1
        epochs = LINEAR_PROTOCOLS[cell.linear].epochs
        work += float(_BACKWARD_TOO * epochs * images * features * size.classes)
    return work
