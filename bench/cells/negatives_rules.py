"""Which settings of targets, negatives and neighbours belong together."""

from collections.abc import Callable

from bench.cells.coordinates import Coordinates
from bench.cells.losses import LOSSES
from bench.cells.requirements import DRAWN


def need(condition: bool, message: str) -> None:
    """Raise ValueError with the sentence unless the condition holds."""
    if not condition:
        raise ValueError(message)


def _check_targets(cell: Coordinates) -> None:
    need(
        (cell.target == "bank") == (cell.negatives == "bank"),
        "target 'bank' and negatives 'bank' need each other",
    )
    need(
        cell.target != "bank" or cell.symmetric == (cell.colour == "lab"),
        "target 'bank' shows one view of an image: symmetric is false, but true with colour 'lab'",
    )
    if cell.negative_branch == "online":
        need(
            cell.negatives in ("batch", "previous")
            and cell.target != "stop-gradient"
            and cell.negative_gradient in (None, "softmax", "online")
            and cell.symmetric
            and not cell.cutmix
            and cell.predictor_layers == 0,
            "negative_branch 'online' needs negatives 'batch' or 'previous', another target than "
            "'stop-gradient' (which is the online branch), symmetric, no CutMix and no predictor",
        )
    if cell.momentum_schedule == "cosine" and cell.momentum is None:
        raise ValueError("momentum_schedule 'cosine' needs target 'momentum'")


def _check_queue(cell: Coordinates) -> None:
    if cell.negatives != "queue":
        need(
            cell.queue_size is None, f"queue_size has no meaning with negatives '{cell.negatives}'"
        )
        return
    need(cell.K is not None, "K is needed with negatives 'queue'")
    if cell.queue_size is not None and cell.queue_size < cell.count:
        raise ValueError(f"K = {cell.K} negatives, but the queue holds {cell.queue_size}")
    if cell.queue_start == "empty" and cell.queue_size is not None:
        raise ValueError("queue_start 'empty' leaves fewer than K keys to draw from")
    if cell.drawn is not None:
        need(
            cell.drawn in DRAWN["queue"] and cell.queue_size is not None,
            f"drawn with negatives 'queue' is one of {', '.join(DRAWN['queue'])}, and queue_size "
            "says from how many",
        )


def _check_pool(cell: Coordinates) -> None:
    if cell.negatives == "batch" and cell.K is not None and cell.pool < cell.K:
        raise ValueError(
            f"K = {cell.K} negatives, but a batch of {cell.batch_size} images has {cell.pool} "
            f"(negative_views '{cell.negative_views}')"
        )
    if cell.negatives not in DRAWN:
        need(cell.drawn is None, f"drawn has no meaning with negatives '{cell.negatives}'")


def _check_bank(cell: Coordinates) -> None:
    need(
        cell.drawn != "ring" or (cell.inner_share or 0) < (cell.ball_share or 0),
        f"inner_share {cell.inner_share} leaves nothing of ball_share {cell.ball_share}",
    )
    begin, end = cell.inner_from_epoch, cell.inner_to_epoch
    need((begin is None) == (end is None), "inner_from_epoch and inner_to_epoch belong together")
    need(
        begin is None or end is None or begin < end,
        f"inner_from_epoch {begin} must be below inner_to_epoch {end}",
    )
    annealed = cell.anneal_epochs is not None or end is not None
    need(
        annealed or cell.anneal_every == "epoch",
        "anneal_every 'step' needs anneal_epochs or inner_to_epoch",
    )
    if cell.negatives == "bank":
        need(
            cell.drawn in DRAWN["bank"] and cell.K is not None,
            f"negatives 'bank' needs K, and drawn as one of {', '.join(DRAWN['bank'])}",
        )
    else:
        need(cell.uniform_epochs == 0, "uniform_epochs has no meaning without negatives 'bank'")
    need(
        cell.uniform_epochs == 0 or cell.uniform_epochs < cell.epochs,
        f"uniform_epochs {cell.uniform_epochs}: there are {cell.epochs} epochs",
    )


def _check_neighbours(cell: Coordinates) -> None:
    given = (cell.target, cell.negatives, cell.negative_views)
    if cell.neighbours == "nearest" and given != ("shared", "batch", "keys"):
        raise ValueError(
            "neighbours 'nearest' needs target 'shared', negatives 'batch' and negative_views "
            "'keys'"
        )
    if cell.neighbour_sum is not None:
        need(
            cell.negatives == "bank" and LOSSES[cell.loss].closer,
            f"neighbours '{cell.neighbours}' needs negatives 'bank' and a loss out of "
            + ", ".join(name for name, loss in LOSSES.items() if loss.closer),
        )
    if cell.neighbours == "k-neighbourhood" and cell.neighbour_count is None:
        need(
            cell.drawn == "nearest",
            "neighbours 'k-neighbourhood' needs neighbour_count, or drawn 'nearest'",
        )


def _check_scalar(cell: Coordinates) -> None:
    given = [cell.K_scalar is not None, cell.scalar_size is not None, cell.scalar_drawn is not None]
    need(len(set(given)) == 1, "K_scalar, scalar_size and scalar_drawn belong together")
    if cell.K_scalar is not None and cell.scalar_size is not None:
        need(
            cell.negatives == "queue" and cell.loss == "dual-temperature" and cell.alpha is None,
            "K_scalar needs negatives 'queue' and loss 'dual-temperature' without alpha",
        )
        need(
            cell.K_scalar <= cell.scalar_size,
            f"K_scalar = {cell.K_scalar} negatives, but scalar_size is {cell.scalar_size}",
        )
        need(cell.queue_start == "random", "K_scalar needs queue_start 'random'")


CHECKS_OF_NEGATIVES: tuple[Callable[[Coordinates], None], ...] = (
    _check_targets, _check_queue, _check_pool, _check_bank, _check_neighbours, _check_scalar,
)  # fmt: skip
"""Each raises ValueError, in one line, for what does not belong together."""
