"""What takes the time of a cell, in units that its settings give: steps, views, multiply-adds, ...

How long one unit of a term takes on a machine is fitted by `bench.estimate` to finished cells.
"""

from typing import NamedTuple

from bench.cells.architectures import Stem, activations, features_of, multiply_adds, weights
from bench.cells.datasets import streams
from bench.cells.linear_protocols import LinearProtocol
from bench.cells.view_recipes import WARPS

NUMBER_BYTES = 4
BACKWARD_TOO = 3  # a step's multiply-adds, in forward passes
KEPT = 2  # numbers of a layer that its backward pass needs: before normalisation and behind it
LEARNT = 3  # numbers of a weight that is learnt: itself, its gradient and its momentum

Terms = dict[str, float]
"""Amounts by the name of what takes the time."""


class Costs(NamedTuple):
    """What takes the time of a cell, by who pays for it."""

    group: str  # cells in which a unit of a term takes equally long
    network: str  # what they compute with; where it has never run, no time is known
    size: float  # multiply-adds of one pass of it
    shared: Terms  # of the training that all cells with its `training_id` share; empty: none
    own: Terms
    shared_bytes: float = 0.0  # what a step of the shared training keeps at once; 0: not known
    own_bytes: float = 0.0  # what one of the cell's own training keeps

    def after(self, training: "Costs") -> "Costs":
        """Return these costs with those of an encoder's training before."""
        return self._replace(shared=training.shared, shared_bytes=training.shared_bytes)


class Network(NamedTuple):
    """An encoder and the size of its images."""

    arch: str
    stem: Stem
    width: int
    image_size: int
    precision: str = "float32"

    @property
    def name(self) -> str:
        """What networks of other widths and image sizes have in common with it."""
        return f"{self.arch}/{self.stem}{self._low}"

    @property
    def in_words(self) -> str:
        """The network with its width and the size of its images."""
        return f"{self.arch}/{self.stem} width {self.width} {self.image_size} px{self._low}"

    @property
    def _low(self) -> str:
        return "" if self.precision == "float32" else f" {self.precision}"

    @property
    def multiply_adds(self) -> float:
        """Of the forward pass of one image."""
        return multiply_adds(self.arch, self.stem, self.width, self.image_size)

    @property
    def number_bytes(self) -> int:
        """Of one number that a layer puts out."""
        return NUMBER_BYTES if self.precision == "float32" else NUMBER_BYTES // 2

    @property
    def features(self) -> int:
        """How many features come out."""
        return features_of(self.arch, self.width)

    @property
    def activations(self) -> float:
        """Numbers that its layers put out for one image."""
        return activations(self.arch, self.stem, self.width, self.image_size)

    @property
    def weights(self) -> float:
        """How many its layers have."""
        return weights(self.arch, self.stem, self.width, self.image_size)

    def forward(self, passes: float) -> Terms:
        """Return the cost of so many forward passes, of one image each; a backward one is two."""
        return {
            f"multiply-adds {self.name}": passes * self.multiply_adds,
            f"bytes {self.name}": NUMBER_BYTES * passes * self.activations,
        }

    def kept_bytes(self, images: float) -> float:
        """Return what the backward pass over so many images needs, in bytes."""
        return self.number_bytes * KEPT * images * self.activations

    def step_bytes(self, images: float, of_weight: int = LEARNT) -> float:
        """Return what a step keeps at once, in bytes.

        Args:
            images: through which the step goes back.
            of_weight: numbers for each weight, of 32 bits whatever the precision.
        """
        return self.kept_bytes(images) + NUMBER_BYTES * of_weight * self.weights


class Images(NamedTuple):
    """What evaluations see of a data set."""

    dataset: str
    train: int
    test: int
    classes: int


class RawInputs(NamedTuple):
    """The pixels themselves, in a network's place."""

    image_size: int

    @property
    def name(self) -> str:
        """What takes a network's place."""
        return "raw"

    @property
    def multiply_adds(self) -> float:
        """None: any image size is like any other."""
        return 1.0

    @property
    def features(self) -> int:
        """How many numbers an image has."""
        return 3 * self.image_size**2

    def forward(self, passes: float) -> Terms:  # noqa: ARG002
        """Return nothing: no network computes."""
        return {}

    def step_bytes(self, images: float) -> float:  # noqa: ARG002
        """Return 0: nothing is learnt."""
        return 0.0


def plus(*costs: Terms) -> Terms:
    """Return the sum of costs."""
    total: Terms = {}
    for terms in costs:
        for name, amount in terms.items():
            total[name] = total.get(name, 0.0) + amount
    return total


def times(count: float, terms: Terms) -> Terms:
    """Return so many times a cost."""
    return {name: count * amount for name, amount in terms.items()}


def steps(count: float, views: str, images: float) -> Terms:
    """Return the cost of steps and of the views that they see.

    Args:
        count: steps.
        views: name of the set.
        images: seen in all steps, each once per step.
    """
    return {"steps": float(count), f"views {views}": float(images)}


def read(dataset: str, images: float) -> Terms:
    """Return the cost of so many images of a data set, before any view of them."""
    where = "files" if streams(dataset) else "memory"
    return {f"images from {where}": float(images)}


def neighbours(train: int, test: int, features: int) -> Terms:
    """Return the cost of kNN.

    Args:
        train: labelled images.
        test: images to be classified.
        features: per image.
    """
    return {"kNN": float(train) * test * features}


def classifier(
    name: str | None, protocol: LinearProtocol | None, train: int, features: int, classes: int
) -> Terms:
    """Return the cost of a linear classifier on features that are there.

    Args:
        name: of the protocol.
        protocol: None costs nothing.
        train: labelled images.
        features: per image.
        classes: of the data set.
    """
    if protocol is None:
        return {}
    work = float(protocol.epochs) * train * features * classes
    return {f"linear {name}": work}


def few_shot(shots: int | None, draws: int, test: int, features: int) -> Terms:
    """Return the cost of few-shot classifiers.

    Args:
        shots: labels per class; None costs nothing.
        draws: of the labels.
        test: images to be classified.
        features: per image.
    """
    return {} if shots is None else {"few-shot": float(draws) * test * features}


def draws_of(warp: str) -> int:
    """Return how often each test image is seen under a warp; 0 without one."""
    return 0 if warp == "none" else WARPS[warp].draws


def evaluation(
    network: Network | RawInputs,
    images: Images,
    *,
    linear: tuple[str | None, LinearProtocol | None],
    shots: tuple[int | None, int],
    views: str,
    warps: int,
) -> Terms:
    """Return the cost of features of all images and of what is measured on them.

    A linear classifier that is shown new views needs features in every epoch; test images under a
    warp are classified beside those without.

    Args:
        network: makes the features.
        images: what is evaluated.
        linear: the protocol's name and the protocol.
        shots: labels per class of few-shot classifiers, and draws of them.
        views: the recipe of new views.
        warps: how often each test image is warped.
    """
    name, protocol = linear
    dataset, train, test, classes = images
    features, seen = network.features, test * (3 + warps)
    twice = 2 if warps else 1
    terms = plus(
        network.forward(train + seen),
        read(dataset, train + seen),
        times(twice, neighbours(train, test * max(1, warps), features)),
        times(twice, classifier(name, protocol, train, features, classes)),
        times(twice, few_shot(*shots, test, features)),
    )
    if protocol is not None and protocol.shown != "image":
        shown = float(protocol.epochs * train)
        kind = views if protocol.shown == "as-pretraining" else protocol.shown
        again = plus(network.forward(shown), read(dataset, shown), {f"views {kind}": shown})
        terms = plus(terms, times(twice, again))
    return terms
