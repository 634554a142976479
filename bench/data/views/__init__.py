"""Random views of image batches, with separate parameters for each image."""

from bench.cells.view_recipes import view_names
from bench.data.views.colour import lab_to_rgb, rgb_to_lab, scaled_lab
from bench.data.views.cutmix import CutMix, cutmix, draw_cutmix
from bench.data.views.geometry import resized
from bench.data.views.parameters import ViewParameters, crop_box
from bench.data.views.views import Views, make_views

__all__ = [
    "CutMix",
    "ViewParameters",
    "Views",
    "crop_box",
    "cutmix",
    "draw_cutmix",
    "lab_to_rgb",
    "make_views",
    "resized",
    "rgb_to_lab",
    "scaled_lab",
    "view_names",
]
