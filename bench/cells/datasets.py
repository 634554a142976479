"""Table of known data sets, and checks of settings against data set sizes.

A data set that an existing loader reads needs one entry in `_KNOWN`. A new file format also needs a
loader in `bench/data/load.py`.
"""

from typing import Literal, NamedTuple

Triple = tuple[float, float, float]
IMAGENET_MEAN = (0.485, 0.456, 0.406)  # constants of torchvision's models, which the field uses
IMAGENET_STD = (0.229, 0.224, 0.225)
WHERE = "train/<wnid>/*.JPEG and val/<wnid>/*.JPEG"


class DatasetInfo(NamedTuple):
    """Facts about one data set."""

    name: str
    words: str  # its name in sentences
    what: str  # the kind of images
    train: int
    test: int
    classes: int  # 0: not stated
    size_mb: int | None  # on disk; None: not stated
    how: str  # to get it
    loader: Literal["digits", "torchvision", "imagenet", "shapes", "coco"]
    unlabeled: int = 0  # images without labels, beside the training images
    torchvision: str = ""  # its class in torchvision.datasets
    folder: str = ""  # of torchvision's files, below the folder of data sets
    mean: Triple = IMAGENET_MEAN  # of each channel, of pixels in [0, 1]
    std: Triple = IMAGENET_STD

    @property
    def images(self) -> int:
        """Number of images in all parts."""
        return self.train + self.test + self.unlabeled

    @property
    def has_boxes(self) -> bool:
        """Whether the data set is for detectors and not for encoders."""
        return self.loader in ("shapes", "coco")


_GET = "bench datasets --get"
# Mean and std over all pixels of CIFAR's 50,000 training images (Krizhevsky, 2009), to four digits.
_KNOWN = (
    DatasetInfo(
        "digits", "digits", "digits, 16x16", 1347, 450, 10, 0, "comes with scikit-learn", "digits"
    ),
    DatasetInfo(
        "cifar10", "CIFAR-10", "photographs, 32x32", 50_000, 10_000, 10, 170, f"{_GET} cifar10",
        "torchvision", torchvision="CIFAR10", folder="cifar-10-batches-py",
        mean=(0.4914, 0.4822, 0.4465), std=(0.2470, 0.2435, 0.2616),
    ),
    DatasetInfo(
        "cifar100", "CIFAR-100", "photographs, 32x32", 50_000, 10_000, 100, 169,
        f"{_GET} cifar100", "torchvision", torchvision="CIFAR100", folder="cifar-100-python",
        mean=(0.5071, 0.4865, 0.4409), std=(0.2673, 0.2564, 0.2762),
    ),
    DatasetInfo(
        "stl10", "STL-10", "photographs, 96x96, most unlabelled", 5000, 8000, 10, 2640,
        f"{_GET} stl10", "torchvision", 100_000, torchvision="STL10", folder="stl10_binary",
    ),
    DatasetInfo(
        "imagenet100", "ImageNet-100", "photographs", 126_689, 5000, 100, 15_000, WHERE, "imagenet"
    ),
    DatasetInfo(
        "imagenet1k", "ImageNet", "photographs", 1_281_167, 50_000, 1000, 150_000, WHERE,
        "imagenet",
    ),
    DatasetInfo(
        "shapes", "drawn shapes", "drawn shapes with boxes", 200, 100, 0, None, "drawn in code",
        "shapes",
    ),
    DatasetInfo(
        "shapes-keypoints", "drawn shapes", "drawn shapes with key points", 200, 100, 0, None,
        "drawn in code", "shapes",
    ),
    DatasetInfo(
        "shapes-long-tail", "drawn shapes", "drawn shapes, labelled like LVIS", 200, 100, 0, None,
        "drawn in code", "shapes",
    ),
    DatasetInfo("coco", "COCO", "images with boxes", 118_287, 5000, 0, None, "", "coco"),
    DatasetInfo("lvis", "LVIS", "images with boxes", 100_170, 19_809, 0, None, "", "coco"),
    DatasetInfo("voc07", "VOC 2007", "images with boxes", 5011, 4952, 0, None, "", "coco"),
    DatasetInfo(
        "voc07+12", "VOC 2007+2012", "images with boxes", 16_551, 4952, 0, None, "", "coco"
    ),
)  # fmt: skip
IMAGE_SETS = {info.name: info for info in _KNOWN if not info.has_boxes}
"""Data sets for training encoders, by name."""
BOXED_SETS = {info.name: info for info in _KNOWN if info.has_boxes}
"""Data sets with boxes and masks, by name; any folder in COCO format is another one."""
SHAPES, KEY_SHAPES, TAIL_SHAPES = "shapes", "shapes-keypoints", "shapes-long-tail"
DRAWN = frozenset({SHAPES, KEY_SHAPES, TAIL_SHAPES})
Learnt = Literal["boxes", "masks", "keypoints"]
"""Parts of an object that a detector learns: its box, and masks or key points."""
GUESS = IMAGE_SETS["cifar10"]  # for a data set of unknown size, such as a folder of images


def words_of(dataset: str) -> str:
    """Return the name of a data set for use in sentences."""
    info = IMAGE_SETS.get(dataset) or BOXED_SETS.get(dataset)
    return info.words if info else dataset


def streams(dataset: str) -> bool:
    """Return whether images are decoded on demand because the data set exceeds memory."""
    return dataset in IMAGE_SETS and IMAGE_SETS[dataset].loader == "imagenet"


_OF_TEST_IMAGES = ("knn_top", "linear_top", "online_linear_top", "test_top", "finetune_top")
_OF_WARPED_IMAGES = ("warped_knn_top", "warped_linear_top", "warped_finetune_top")


def size_of(dataset: str, held_out: float | None = None) -> DatasetInfo | None:
    """Return the facts about a data set; None if it is unknown.

    `held_out` is the share of training images that form the test part, up to one image per class.
    """
    size = IMAGE_SETS.get(dataset)
    if size is None or held_out is None:
        return size
    out = round(held_out * size.train)
    return size._replace(train=size.train - out, test=out)


def accuracy_step(
    dataset: str, metric: str, held_out: float | None = None, warps: int = 1
) -> float | None:
    """Return the percentage of one test image in an accuracy; None if it is unknown.

    Args:
        dataset: name of the data set.
        metric: name of the accuracy.
        held_out: see `size_of`.
        warps: random warps per test image.
    """
    size = size_of(dataset, held_out)
    if size is None or not metric.startswith(_OF_TEST_IMAGES + _OF_WARPED_IMAGES):
        return None
    return 100 / (size.test * (warps if metric.startswith(_OF_WARPED_IMAGES) else 1))


class Demand(NamedTuple):
    """Requirement of a setting on a data set."""

    setting: str
    value: int
    most: int  # that the data set allows
    limit: str  # why no more, in words
    fails: bool = True  # whether the cell cannot be computed with more


class TrainingImages(NamedTuple):
    """Number of images that a cell trains on, for a data set of known size."""

    dataset: str
    available: int
    taken: int

    @property
    def limit(self) -> str:
        """Origin of the number of training images, as text."""
        if self.taken == self.available:
            return f"data set {self.dataset} has only {self.available} training images"
        return f"train_images limits the training to {self.taken} images"

    def demand(self, setting: str, value: int | None, most: int | None = None) -> Demand:
        """Return the requirement of a setting on these images.

        Args:
            setting: name of the setting.
            value: number of images it needs; None means no requirement.
            most: number of images available to the setting; None means all.
        """
        limit = self.limit if most is None else f"{self.limit}, so at most {most} are possible"
        return Demand(setting, value or 0, self.taken if most is None else most, limit)

    def demands(self, batch_size: int, N: int) -> list[Demand]:
        """Return the requirements of every training: enough images, and one full step."""
        enough = f"data set {self.dataset} has only {self.available} training images"
        return [
            Demand("train_images", self.taken, self.available, enough),
            self.demand("batch_size", batch_size),
            self.demand("N", N),
        ]
