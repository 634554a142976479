"""Random views of a batch of images: batched tensor code with parameters of each sample's own."""

from bench.data.views.crops import crop_box
from bench.data.views.parameters import ViewParameters
from bench.data.views.recipes import view_names
from bench.data.views.views import Views, make_views

__all__ = ["ViewParameters", "Views", "crop_box", "make_views", "view_names"]
