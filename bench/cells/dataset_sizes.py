"""How large the known data sets are, and what settings ask of them."""

from typing import NamedTuple


class Size(NamedTuple):
    """Images by part, and classes."""

    train: int
    test: int
    classes: int
    unlabeled: int = 0


SIZES: dict[str, Size] = {
    "digits": Size(1347, 450, 10),
    "cifar10": Size(50_000, 10_000, 10),
    "cifar100": Size(50_000, 10_000, 100),
    "stl10": Size(5000, 8000, 10, unlabeled=100_000),
    "imagenet100": Size(126_689, 5000, 100),
    "imagenet1k": Size(1_281_167, 50_000, 1000),
}
STREAMED = ("imagenet100", "imagenet1k")
"""Too large for memory: their images are decoded as they are needed."""
GUESS = SIZES["cifar10"]  # of a data set that is not known, such as a folder of images


_OF_TEST_IMAGES = ("knn_top", "linear_top", "online_linear_top", "test_top")
_OF_WARPED_IMAGES = ("warped_knn_top", "warped_linear_top")


def size_of(dataset: str, held_out: float | None = None) -> Size | None:
    """Return how large a data set is; None where that is not known.

    With `held_out`, that share of the training images is the test part, up to one image per class.
    """
    size = SIZES.get(dataset)
    if size is None or held_out is None:
        return size
    out = round(held_out * size.train)
    return size._replace(train=size.train - out, test=out)


def accuracy_step(
    dataset: str, metric: str, held_out: float | None = None, warps: int = 1
) -> float | None:
    """Return the percent that one test image is worth to an accuracy; None where not known.

    Args:
        dataset: its name.
        metric: the accuracy.
        held_out: see `size_of`.
        warps: draws of a warp per test image.
    """
    size = size_of(dataset, held_out)
    if size is None or not metric.startswith(_OF_TEST_IMAGES + _OF_WARPED_IMAGES):
        return None
    return 100 / (size.test * (warps if metric.startswith(_OF_WARPED_IMAGES) else 1))


def images_there(
    dataset: str, pretrain_on: str = "train", held_out: float | None = None
) -> int | None:
    """Return how many images there are to train on; None where the data set is not known.

    Args:
        dataset: name of the data set.
        pretrain_on: the part or parts to train on.
        held_out: share of the training part that is kept back; None: nothing.
    """
    size = size_of(dataset, held_out)
    if size is None:
        return None
    return size.train + (size.unlabeled if pretrain_on == "train+unlabeled" else 0)


class Demand(NamedTuple):
    """What a setting asks of a data set."""

    setting: str
    value: int
    most: int  # that the data set allows
    limit: str  # why no more, in words
    fails: bool = True  # whether the cell cannot be computed with more


class TrainingImages(NamedTuple):
    """How many images of a data set of known size a cell trains on."""

    dataset: str
    available: int
    taken: int

    @property
    def limit(self) -> str:
        """What their number comes from, in words."""
        if self.taken == self.available:
            return f"{self.dataset} has {self.available}"
        return f"train_images is {self.taken}"

    def demand(self, setting: str, value: int | None, most: int | None = None) -> Demand:
        """Return what a setting asks of these images, or of the `most` of them that count.

        Args:
            setting: name of the setting.
            value: how many images it asks for; None: none.
            most: how many of the images count; None: all.
        """
        return Demand(setting, value or 0, self.taken if most is None else most, self.limit)

    def demands(self, batch_size: int, N: int) -> list[Demand]:
        """Return what every training asks: so many images, and one step of N."""
        enough = f"{self.dataset} has {self.available} to train on"
        return [
            Demand("train_images", self.taken, self.available, enough),
            self.demand("batch_size", batch_size),
            self.demand("N", N),
        ]


def training_images(
    dataset: str,
    train_images: int | None,
    pretrain_on: str = "train",
    held_out: float | None = None,
) -> TrainingImages | None:
    """Return the images that `train_images` (None: all) takes; None where the size is not known.

    Args:
        dataset: name of the data set.
        train_images: how many images are taken; None: all.
        pretrain_on: the part or parts to train on.
        held_out: share of the training part that is kept back; None: nothing.
    """
    available = images_there(dataset, pretrain_on, held_out)
    if available is None:
        return None
    return TrainingImages(dataset, available, available if train_images is None else train_images)
