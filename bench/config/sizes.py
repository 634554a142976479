"""How large the known data sets are: for predicted times, and to tell what cannot be run."""

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
GUESS = SIZES["cifar10"]  # of a data set that is not known, such as a folder of images


_OF_TEST_IMAGES = ("knn_top", "linear_top", "online_linear_top", "test_top")


def test_step(dataset: str, metric: str) -> float | None:
    """Return the percent that one test image is worth to an accuracy; None where not known."""
    size = SIZES.get(dataset)
    return 100 / size.test if size and metric.startswith(_OF_TEST_IMAGES) else None


def images_there(dataset: str, pretrain_on: str = "train") -> int | None:
    """Return how many images there are to train on; None where the data set is not known."""
    size = SIZES.get(dataset)
    if size is None:
        return None
    return size.train + (size.unlabeled if pretrain_on == "train+unlabeled" else 0)
