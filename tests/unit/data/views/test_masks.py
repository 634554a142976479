"""Operations on all images, kept for some, are to float rounding what operations on these are."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from bench.data.views import Views, make_views, view_names
from bench.data.views import apply as module
from tests.fakes.torchvision_views import random_pixels


def views_named(name: str) -> Views:
    return make_views(name, size=16, local_size=8 if name == "multi-crop" else None)


def made(views: Views, batch: int, key: int = 0, device: str = "cpu") -> tuple[Tensor, ...]:
    parameters = views.draw(np.random.default_rng(key), batch, 20, 18)
    return views.apply(random_pixels(batch, 3, 20, 18).to(device), parameters)


@pytest.mark.parametrize("name", view_names())
@pytest.mark.parametrize("batch", [1, 24])
def test_masks_give_what_parts_of_the_batch_give(
    name: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [made(views_named(name), batch, key) for key in range(3)]
    monkeypatch.setattr(module, "by_masks", lambda _: True)
    for key, expected in enumerate(parts):
        for found, own in zip(made(views_named(name), batch, key), expected, strict=True):
            assert_close(found, own, rtol=0, atol=3e-6)


@pytest.mark.parametrize("name", ["simclr", "moco-v1", "byol", "lab-filters"])
def test_no_shape_depends_on_what_is_drawn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With masks the same operations are done on the same shapes whatever the chances said."""
    monkeypatch.setattr(module, "by_masks", lambda _: True)

    class Shapes(torch.utils._python_dispatch.TorchDispatchMode):
        seen: list[object]

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
            found = func(*args, **(kwargs or {}))
            self.seen.append((str(func), getattr(found, "shape", None)))
            return found

    orders = []
    for key in range(6):
        shapes = Shapes()  # type: ignore[no-untyped-call]
        shapes.seen = []
        views = views_named(name)
        parameters = views.draw(np.random.default_rng(key), 3, 20, 18)
        with shapes:
            views.apply(random_pixels(3, 3, 20, 18), parameters)
        orders.append(shapes.seen)
    assert len(orders[0]) > 50
    assert all(order == orders[0] for order in orders)


@pytest.mark.gpu
@pytest.mark.parametrize("name", view_names())
def test_a_gpu_makes_the_same_views(name: str) -> None:
    on_gpu, on_cpu = (made(views_named(name), 24, 0, device) for device in ("cuda", "cpu"))
    for there, here in zip(on_gpu, on_cpu, strict=True):
        assert_close(there.cpu(), here, rtol=0, atol=1e-4)
