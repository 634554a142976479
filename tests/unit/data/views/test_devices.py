"""A GPU makes the views that a CPU makes."""

import numpy as np
import pytest
from torch import Tensor
from torch.testing import assert_close

from bench.data.views import make_views, view_names
from tests.fakes.torchvision_views import random_pixels


def made(name: str, device: str) -> tuple[Tensor, ...]:
    views = make_views(name, size=16, local_size=8 if name == "multi-crop" else None)
    parameters = views.draw(np.random.default_rng(0), 24, 20, 18)
    return views.apply(random_pixels(24, 3, 20, 18).to(device), parameters)


@pytest.mark.gpu
@pytest.mark.parametrize("name", view_names())
def test_a_gpu_makes_the_same_views(name: str) -> None:
    for there, here in zip(made(name, "cuda"), made(name, "cpu"), strict=True):
        assert_close(there.cpu(), here, rtol=0, atol=1e-4)
