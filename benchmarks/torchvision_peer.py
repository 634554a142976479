"""The peer of the speed of SimCLR where lightly is not installed: torchvision's transforms."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from torchvision import transforms

from bench.cells.pretrain import Pretrain
from bench.data.images import Images
from bench.methods.online_network import Online
from benchmarks.pretrain_step import Pictures


def two_views() -> Callable[[Any], list[Tensor]]:
    """Return SimCLR's transform at CIFAR-10's settings (arXiv:2002.05709, App. B.9), twice."""
    one = transforms.Compose(
        [
            transforms.RandomResizedCrop(32),
            transforms.RandomHorizontalFlip(),
            transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
            transforms.RandomGrayscale(0.2),
            transforms.ToTensor(),
            transforms.Normalize((0.5,) * 3, (0.5,) * 3),
        ]
    )
    return lambda image: [one(image), one(image)]


def nt_xent(z_ND: Tensor, tau: float) -> Tensor:
    """Return NT-Xent of unit outputs, those of the second views behind those of the first."""
    n = len(z_ND) // 2
    own = torch.eye(2 * n, dtype=torch.bool, device=z_ND.device)
    logits = (z_ND @ z_ND.T / tau).masked_fill(own, -torch.inf)
    partner = torch.arange(2 * n, device=z_ND.device).roll(n)
    return nn.functional.cross_entropy(logits, partner)


def torchvision_peer(
    cell: Pretrain, images: Images, device: str, workers: int
) -> Callable[[], None]:
    """Return a step of the same training with torchvision's transforms and torch's loader."""
    loader: DataLoader[Any] = DataLoader(
        Pictures(images, two_views()), cell.batch_size, shuffle=True, drop_last=True,
        num_workers=workers, persistent_workers=workers > 0,
    )  # fmt: skip
    online = Online(cell).to(device).train()
    network = nn.Sequential(online.backbone, online.projector)
    sgd = torch.optim.SGD(network.parameters(), lr=cell.lr, momentum=0.9, weight_decay=1e-4)
    batches = _endless(loader)
    tau = cell.tau or 1.0

    def step() -> None:
        both = torch.cat([view.to(device) for view in next(batches)])
        with torch.autocast(device, torch.bfloat16, enabled=cell.precision == "bf16"):
            z_ND = network(both)
        loss = nt_xent(nn.functional.normalize(z_ND.float(), dim=1), tau)
        sgd.zero_grad()
        loss.backward()
        sgd.step()

    return step


def _endless(loader: DataLoader[Any]) -> Iterator[Any]:
    while True:
        yield from loader
