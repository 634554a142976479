"""Names of metrics in sentences, titles and column headings."""

METRICS = {
    "knn": "kNN",
    "q_b": "q_B",
    "q_b_first": "q_B of the first epoch",
    "q_b_mode": "mode of q_B",
    "q_b_cv": "variation of q_B",
    "q_b_low": "share of queries with small q_B",
    "q_b_in_dcl_gradient": "q_B in DCL's gradient",
    "mean_of_w_vmf": "mean of DCLW's weights",
    "sum_of_negative_weights_exp_over_U": "sum of the weights of the negatives",
    "rankme": "RankMe",
    "lidar": "LiDAR",
    "ap_bbox": "box AP",
    "ap_mask": "mask AP",
    "ap_keypoint": "key-point AP",
    **{
        f"ap{overlap}_{of}": f"{words} AP at overlap {overlap / 100:g}"
        for of, words in (("bbox", "box"), ("mask", "mask"), ("keypoint", "key-point"))
        for overlap in (50, 75)
    },
    **{
        f"ap{short}_bbox": f"box AP of {size} objects"
        for short, size in (("s", "small"), ("m", "medium"), ("l", "large"))
    },
    **{
        f"ap{short}_{of}": f"{words} AP of {kind} categories"
        for of, words in (("bbox", "box"), ("mask", "mask"))
        for short, kind in (("r", "rare"), ("c", "common"), ("f", "frequent"))
    },
    "few_shot_linear": "few-shot linear",
    "few_shot_nn": "few-shot nearest-neighbour",
    "nn": "nearest-neighbour",
    "finetune": "fine-tuning",
    "train": "training",
    "image_to_text": "image-to-text",
    "text_to_image": "text-to-image",
    "knn_top1_best": "best kNN accuracy of any epoch",
    "test_top1_best": "best test accuracy of any epoch",
    "finetune_gain": "gain in fine-tuning accuracy",
    "train_loss": "training loss",
    "top1": "top-1 accuracy",
    "train_hours": "training time (hours)",
    "params_m": "parameters (millions)",
    "mi_lower_bound": "MI bound",
    "mi_lower_bound_approximate": "approximate MI bound",
    "mi_lower_bound_std": "standard deviation of the MI bound",
    "std_over_tau_of_knn_top1": "standard deviation of kNN accuracy over temperatures",
}
DIFFERENCES = {  # of accuracies, by the ends of their names
    "_top1_gain": "gain in {} accuracy",
    "_top1_gain_over_infonce": "gain in {} accuracy over InfoNCE",
    "_top1_difference": "difference in {} accuracy",
    "_top1_drop": "drop in {} accuracy",
    "_top1_gap": "range of {} accuracies",
}
WARPED = "warped_"  # the accuracy on test images that are warped
TOPS = (("_top1", "top-1"), ("_top5", "top-5"))


def metric_words(metric: str) -> str:
    """Return a metric's name in sentences: linear accuracy for linear_top1."""
    bare, images = metric.removeprefix(WARPED), _images(metric)
    for ending, words in (("_top1", "accuracy"), ("_top5", "top-5 accuracy")):
        if bare.endswith(ending):
            return f"{_words(bare.removesuffix(ending))} {words}{images}"
    return _words(bare) + images


def _words(name: str) -> str:
    for ending, words in DIFFERENCES.items():
        if name.endswith(ending):
            return words.format(_words(name.removesuffix(ending)))
    return METRICS.get(name, name.replace("_", " "))


def metric_title(metric: str) -> str:
    """Return a metric's name in titles: linear top-1 for linear_top1."""
    bare = metric.removeprefix(WARPED)
    for ending, words in TOPS:
        if bare.endswith(ending):
            return f"{_words(bare.removesuffix(ending))} {words}{_images(metric)}"
    return metric_words(metric).replace("top1", "top-1")


def _images(metric: str) -> str:
    return " on warped images" if metric.startswith(WARPED) else ""


NATS = ("mi_", "vince_bound", "infonce_bound")


def unit_of_metric(metric: str) -> str:
    """Return the unit of differences of a metric; empty if it has none."""
    if "_top" in metric:
        return "points"
    return "nats" if metric.startswith(NATS) or metric.endswith("loss") else ""
