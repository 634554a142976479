"""Methods from users' files: their module computes the loss of a step."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from bench.cells.pretrain import Pretrain
from bench.data.streams import Purpose, stream
from bench.errors import CellFailure
from bench.loss_files import AFTER, MAKE, METHOD, STEP, MethodDeclaration
from bench.methods.online_network import Online
from bench.methods.own_loss import defined, faults_of, found, shown


class Moment(NamedTuple):
    """Position of a step in the training."""

    step: int  # of the optimiser, from 0
    steps: int  # of the whole training
    epoch: int  # from 0
    epochs: int


class Stepped(NamedTuple):
    """Result of a method for a batch."""

    loss: Tensor  # a scalar
    quantities: Mapping[str, Tensor]  # scalars, by name; without gradient
    features: Tensor  # of the backbone, of the first view, (N, F); without gradient


class OwnMethod:
    """A method from a file, with the cell's parameters.

    The module's parameters and buffers are in every checkpoint. torch's global generator is seeded
    from the cell's seed before the module is built and before each batch, so initial weights and
    dropout are reproducible.
    """

    def __init__(self, cell: Pretrain, online: Online, images: int) -> None:
        """Run the file.

        Args:
            cell: names the file, and gives the parameters.
            online: the network that learns.
            images: how many training images there are.

        Raises:
            CellFailure: no trusted folder has it as the cell was planned, or it raises an error, or
                its class is no module or keeps the network itself.
        """
        self.cell, self.file = cell, found(cell)
        assert isinstance(self.file.declared, MethodDeclaration)
        self.quantities = tuple(self.file.declared.quantities)
        self._settings = cell.parameters | {
            "tau": cell.tau, "feature_dim": cell.feature_dim, "batch_size": cell.batch_size,
            "images": images,
        }  # fmt: skip
        made = defined(self.file.source, self.file.code, METHOD)[METHOD]
        with faults_of(self.file.code), self._seeded(8):
            self.module = made(**self._given(MAKE, {"online": online}))
        if not isinstance(self.module, nn.Module):
            raise CellFailure(f"{self.file.code}: the class {METHOD} must be a torch.nn.Module")
        ours = {id(parameter) for parameter in online.parameters()}
        if any(id(parameter) in ours for parameter in self.module.parameters()):
            raise CellFailure(
                f"{self.file.code}: {METHOD} stores the network that is trained; store a "
                "copy by copy.deepcopy(online), or use the argument `online` of `step`"
            )

    learned: tuple[nn.Parameter, ...] = ()
    """Learned parameters of an objective, which have no weight decay: none."""

    def begin_epoch(self, epoch: int) -> None:
        """Do nothing: the module gets the epoch in each step."""

    @property
    def modules(self) -> dict[str, nn.Module]:
        """The modules with state besides the online network."""
        return {"method": self.module}

    @property
    def trained(self) -> list[tuple[str, nn.Parameter]]:
        """Parameters with a gradient, which are trained like the network's weights."""
        return [(k, p) for k, p in self.module.named_parameters() if p.requires_grad]

    def step(
        self,
        online: Online,
        views: Sequence[Tensor],
        moment: Moment,
        place: int,
        **images: Any,
    ) -> Stepped:
        """Return the loss of a batch.

        Args:
            online: the online network.
            views: views of the same images, (N, 3, S, S) each; S differs between global and local
                crops.
            moment: position of the optimiser's step in the training.
            place: index of the batch in its epoch.
            **images: `labels_N` and `rows_N`.

        Raises:
            CellFailure: the code raises an error, returns an invalid value, or does not pass the
                first view to the network first.
        """
        seen: list[Tensor] = []
        hook = online.backbone.register_forward_hook(lambda _m, _i, out: seen.append(out.detach()))
        given = images | {"online": online, "views": views, **moment._asdict()}
        try:
            with faults_of(self.file.code), self._seeded(9, moment.epoch, place):
                returned = self.module.step(**self._given(STEP, given))
        finally:
            hook.remove()
        is_pair = isinstance(returned, tuple) and len(returned) == 2
        loss, quantities = returned if is_pair else (returned, {})
        self._check(loss, quantities)
        if not seen or len(seen[0]) < len(views[0]):
            raise CellFailure(f"{self.file.code}: the first call in step must be online(views[0])")
        return Stepped(loss, self._recorded(quantities, loss), seen[0][: len(views[0])])

    def after_step(self, online: Online, moment: Moment) -> None:
        """Call the module's hook after a step of the optimiser.

        Raises:
            CellFailure: the code raises an error.
        """
        if AFTER in self.file.hooks:
            given = {"online": online, **moment._asdict()}
            with faults_of(self.file.code), torch.no_grad():
                self.module.after_step(**self._given(AFTER, given))

    def _given(self, function: str, more: Mapping[str, Any]) -> dict[str, Any]:
        names = self.file.arguments if function == STEP else self.file.hooks.get(function, ())
        known = {**self._settings, **more}
        return {name: known[name] for name in names}

    @contextmanager
    def _seeded(self, *key: int) -> Iterator[None]:
        seed = int(stream(self.cell.seed, Purpose.INIT, *key).integers(2**63))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield

    def _check(self, loss: Any, quantities: Any) -> None:
        def refuse(what: str, value: Any) -> None:
            raise CellFailure(f"{self.file.code}: {STEP} returns {shown(value)}, expected {what}")

        if not (isinstance(loss, Tensor) and loss.ndim == 0 and loss.is_floating_point()):
            refuse("the loss, one number as a tensor, or (loss, {name: number})", loss)
        if not isinstance(quantities, dict) or set(quantities) != set(self.quantities):
            listed = ", ".join(self.quantities) or "none"
            refuse(f"what {self.file.path} lists under quantities ({listed})", quantities)
        for name, value in quantities.items():
            if not isinstance(value, int | float) and getattr(value, "ndim", 1) != 0:
                refuse(f"one number as '{name}'", value)

    def _recorded(self, quantities: Mapping[str, Any], loss: Tensor) -> dict[str, Tensor]:
        return {
            name: torch.as_tensor(quantities[name]).detach().to(loss) for name in self.quantities
        }
