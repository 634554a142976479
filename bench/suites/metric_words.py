"""Names of metrics in sentences, titles and column headings."""

METRICS = {
    "knn": "kNN",
    "q_b": "q_B",
    "q_b_first": "q_B of the first epoch",
    "q_b_mode": "mode of q_B",
    "q_b_cv": "variation of q_B",
    "rankme": "RankMe",
    "lidar": "LiDAR",
    "ap_bbox": "box AP",
    "ap_mask": "mask AP",
    "ap_keypoint": "key-point AP",
    **{
        f"ap{short}_{of}": f"{words} AP of {kind} categories"
        for of, words in (("bbox", "box"), ("mask", "mask"))
        for short, kind in (("r", "rare"), ("c", "common"), ("f", "frequent"))
    },
    "few_shot_linear": "few-shot linear",
    "mi_lower_bound": "MI bound",
    "mi_lower_bound_approximate": "approximate MI bound",
}
WARPED = "warped_"  # the accuracy on test images that are warped
TOPS = (("_top1", "top-1"), ("_top5", "top-5"))


def metric_words(metric: str) -> str:
    """Return a metric's name in sentences: linear for linear_top1."""
    bare = metric.removesuffix("_top1").removeprefix(WARPED)
    return METRICS.get(bare, bare.replace("_", " ")) + _images(metric)


def metric_title(metric: str) -> str:
    """Return a metric's name in titles: linear top-1 for linear_top1."""
    bare = metric.removeprefix(WARPED)
    for ending, words in TOPS:
        if bare.endswith(ending):
            return f"{metric_words(bare.removesuffix(ending))} {words}{_images(metric)}"
    return metric_words(metric).replace("top1", "top-1")


def _images(metric: str) -> str:
    return " on warped images" if metric.startswith(WARPED) else ""


NATS = ("mi_", "vince_bound", "infonce_bound")


def unit_of_metric(metric: str) -> str:
    """Return the unit of differences of a metric; empty if it has none."""
    if "_top" in metric:
        return "points"
    return "nats" if metric.startswith(NATS) or metric.endswith("loss") else ""
