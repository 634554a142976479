"""Linear classifier on frozen features, trained afterwards or along with the encoder.

Shapes: n training images, m test images, B images of a batch, D dimensions, C classes.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from bench.cells.linear_protocols import LinearProtocol
from bench.errors import Diverged
from bench.evaluate.features import Accuracy, Features, accuracy, check_labels, normalise
from bench.evaluate.plateau import Plateau
from bench.evaluate.regression import logistic_scores

ViewsOfStep = Callable[[int, Sequence[Tensor]], Iterable[Tensor]]
"""Function from an epoch and batches of training rows to features of new views of them."""
INIT_STD = 0.01  # of the weights; biases begin at 0 (unigrad, released-code-linear-eval)


class Classifier:
    """Linear layer with an explicit gradient, which takes half the time of autograd."""

    def __init__(
        self, dim: int, classes: int, generator: np.random.Generator, device: str | torch.device
    ) -> None:
        """Draw the weights from a normal distribution; the biases are 0."""
        drawn = torch.from_numpy(generator.normal(0, INIT_STD, (classes, dim))).float()
        self.weight = nn.Parameter(drawn.to(device))
        self.bias = nn.Parameter(torch.zeros(classes, device=device))
        self.range_C = torch.arange(classes, device=device)

    def named_parameters(self) -> list[tuple[str, nn.Parameter]]:
        """Return weight (C, D) and bias (C,) with their names."""
        return [("weight", self.weight), ("bias", self.bias)]

    @torch.no_grad()
    def scores(self, features_BD: Tensor) -> Tensor:
        """Return the logits, shape (B, C)."""
        return torch.addmm(self.bias, features_BD, self.weight.T)

    @torch.no_grad()
    def set_gradient(self, features_BD: Tensor, labels_B: Tensor) -> None:
        """Set the gradient of the mean cross-entropy over labelled images (label not -1)."""
        labelled_B1 = (labels_B >= 0)[:, None]
        error_BC = self.scores(features_BD).softmax(dim=1)
        error_BC -= (labels_B[:, None] == self.range_C).float()
        error_BC *= labelled_B1 / labelled_B1.sum().clamp(min=1)
        self.weight.grad, self.bias.grad = error_BC.T @ features_BD, error_BC.sum(dim=0)


def linear_top1(
    features: Features,
    *,
    protocol: LinearProtocol,
    classes: int,
    generator: np.random.Generator,
    optimiser: Callable[..., torch.optim.Optimizer],
    shown: ViewsOfStep | None = None,
) -> Accuracy:
    """Return a linear classifier's test accuracy after its last epoch, in percent.

    Args:
        features: float32, on the device used for training.
        protocol: training protocol. The batch size is limited to the size of the training part.
        classes: number of classes C.
        generator: source of held-out images, initial weights and the order of images.
        optimiser: function that makes SGD, LARS or Adam, such as `make_optimiser` of `bench.train`;
            unused for lbfgs.
        shown: function that returns features of augmented images; None without augmentation.

    Raises:
        ValueError: a label is not a class, or `shown` is missing or not allowed.
        Diverged: a weight of the classifier is infinite or NaN.
    """
    check_labels(features, classes)
    if (shown is None) != (protocol.shown == "image"):
        need = "left out" if protocol.shown == "image" else "given"
        why = f"because the protocol trains on {protocol.shown!r}"
        raise ValueError(f"the argument `shown` must be {need}, {why}")
    if protocol.optimizer == "lbfgs":
        (scores,) = logistic_scores(
            [features],
            classes,
            C=protocol.C,
            iterations=protocol.epochs,
            normalised=protocol.normalise,
        )
        return accuracy(scores, features.test_labels)
    ready = normalise(features, protocol.normalise)
    watched, rows = ready, torch.arange(len(ready.train), device=ready.train.device)
    if protocol.schedule == "plateau":
        watched, rows = hold_out(ready, protocol.held_out, generator)
    classifier = Classifier(ready.train.shape[1], classes, generator, ready.train.device)
    steps = optimiser(
        classifier.named_parameters(),
        optimizer=protocol.optimizer,
        lr=protocol.base_lr,
        momentum=protocol.momentum,
        weight_decay=protocol.weight_decay,
        exempt=False,
    )
    shown_rows = shown or (lambda _, batches: (ready.train[batch] for batch in batches))
    _fit(
        classifier, watched, protocol, generator, steps,
        lambda epoch, batches: shown_rows(epoch, [rows[batch] for batch in batches]),
    )  # fmt: skip
    if not bool(torch.isfinite(classifier.weight).all()):
        raise Diverged("a weight of the linear classifier is infinite or not a number")
    return accuracy(classifier.scores(ready.test), ready.test_labels)


def _fit(
    classifier: Classifier,
    features: Features,
    protocol: LinearProtocol,
    generator: np.random.Generator,
    steps: torch.optim.Optimizer,
    shown: ViewsOfStep,
) -> None:
    """Train on what is shown of the training part; the test part is what a plateau watches."""
    n = len(features.train)
    size = min(protocol.batch_size, n)
    plateau = Plateau(patience=protocol.patience, drops=protocol.plateau_drops)
    for epoch in range(protocol.epochs):
        for group in steps.param_groups:
            group["lr"] = protocol.lr_at(epoch, size, plateau.dropped)
        order = torch.from_numpy(generator.permutation(n)).to(features.train.device)
        batches = order.split(size)
        for batch, features_BD in zip(batches, shown(epoch, batches), strict=True):
            classifier.set_gradient(features_BD, features.train_labels[batch])
            steps.step()
        if protocol.schedule == "plateau":
            plateau.update(accuracy(classifier.scores(features.test), features.test_labels).top1)


def hold_out(
    features: Features, share: float, generator: np.random.Generator
) -> tuple[Features, Tensor]:
    """Return the features with a share of the training part as test part, at least one image.

    The indices of the remaining training images are also returned.

    Args:
        features: labelled features of the training and test part.
        share: share of the training images to hold out, 0 to 1.
        generator: source of randomness.
    """
    order = torch.from_numpy(generator.permutation(len(features.train)))
    held, kept = order.to(features.train.device).tensor_split([max(1, round(share * len(order)))])
    x, y = features.train, features.train_labels
    return Features(x[kept], y[kept], x[held], y[held]), kept


class OnlineLinear:
    """Linear classifier trained along with the encoder, on detached features.

    The optimiser is SGD with momentum 0.9 and a constant learning rate. No gradient reaches the
    encoder.
    """

    def __init__(
        self,
        feature_dim: int,
        classes: int,
        generator: np.random.Generator,
        device: str | torch.device,
        *,
        lr: float = 0.1,
    ) -> None:
        """Draw the weights; `lr` holds for the mean cross-entropy of a batch of any size."""
        self.classifier = Classifier(feature_dim, classes, generator, device)
        parameters = [p for _, p in self.classifier.named_parameters()]
        self.sgd = torch.optim.SGD(parameters, lr=lr, momentum=0.9, fused=True)

    def step(self, features_BD: Tensor, labels_B: Tensor) -> None:
        """Do one step on the labelled images (label not -1)."""
        self.classifier.set_gradient(features_BD.detach().float(), labels_B)
        self.sgd.step()

    def top1(self, features_mD: Tensor, labels_m: Tensor) -> float:
        """Return the accuracy on labelled images, in percent."""
        return accuracy(self.classifier.scores(features_mD.detach().float()), labels_m).top1

    def state_dict(self) -> dict[str, Tensor]:
        """Return the weights and momentum buffers, for a checkpoint."""
        state = {name: p.detach() for name, p in self.classifier.named_parameters()}
        for name, p in self.classifier.named_parameters():
            buffer = self.sgd.state[p].get("momentum_buffer")
            state[f"{name}_momentum"] = torch.zeros_like(p) if buffer is None else buffer
        return state

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore the result of `state_dict`."""
        for name, p in self.classifier.named_parameters():
            p.data.copy_(state[name])
            buffer = state[f"{name}_momentum"].to(p.device).clone()
            self.sgd.state[p]["momentum_buffer"] = buffer
