"""Backbones of timm with random weights. Shapes: B images, S pixels per side."""

import importlib.util
from types import ModuleType

import numpy as np
import torch
from torch import Tensor, nn

from bench.errors import CellFailure, choices

INSTALL = "pip install 'contrastive-bench[timm]'"


class TimmEncoder(nn.Module):
    """A timm network from images (B, 3, S, S) to pooled features (B, `feature_dim`)."""

    def __init__(self, name: str, *, image_size: int, generator: np.random.Generator) -> None:
        """Draw its first values by timm's own rules, from a seed.

        Args:
            name: as timm knows it, such as `vit_tiny_patch16_224`.
            image_size: S; networks that are made for one size, such as ViTs, are made for this.
            generator: gives the seed.

        Raises:
            CellFailure: timm is missing, has no such network, or cannot make it for such images.
        """
        super().__init__()
        timm = checked_timm(name)
        fixed = timm.get_pretrained_cfg(name).fixed_input_size
        size = {"img_size": image_size} if fixed else {}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(generator.integers(2**63)))
            try:
                network = timm.create_model(name, pretrained=False, num_classes=0, **size)
                with torch.no_grad():
                    features = network.eval()(torch.zeros(2, 3, image_size, image_size))
            except Exception as error:
                why = " ".join(str(error).split())
                raise CellFailure(
                    f"arch 'timm:{name}': no network for images of {image_size} pixels: {why}"
                ) from error
        if features.ndim != 2:
            raise CellFailure(f"arch 'timm:{name}': gives features of {features.ndim} axes, not 2")
        self.network = network.train()
        self.feature_dim = int(features.shape[1])

    def forward(self, images: Tensor) -> Tensor:
        """Return the pooled features."""
        features: Tensor = self.network(images)
        return features

    def probed_layers(self) -> dict[str, nn.Parameter]:
        """Return the last two weights with at least two axes, by name."""
        return dict([(k, p) for k, p in self.named_parameters() if p.ndim > 1][-2:])


def checked_timm(name: str) -> ModuleType:
    """Import and return timm.

    Raises:
        CellFailure: timm is missing or lacks the network.
    """
    if importlib.util.find_spec("timm") is None:
        raise CellFailure(f"arch 'timm:{name}' needs the package timm: {INSTALL}")
    import timm

    if not timm.is_model(name):
        alike = timm.list_models(f"{name[:4].lower()}*") or ["resnet18", "vit_tiny_patch16_224"]
        raise CellFailure(
            f"arch 'timm:{name}': timm {timm.__version__} has no such network. "
            f"{choices(name, alike)}"
        )
    return timm
