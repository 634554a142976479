"""DINO (arXiv:2104.14294). Shapes: B images, D dimensions, K outputs."""

import copy
import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

GLOBAL = 2  # views that the teacher sees; the student sees small crops too


def cross_entropy(students: Sequence[Tensor], targets: Sequence[Tensor], *, tau: float) -> Tensor:
    """Return the mean cross-entropy of a student's view with another view's targets (Eq. 3).

    Args:
        students: outputs (B, K) for all views, those of the teacher's views first.
        targets: the teacher's probabilities (B, K).
        tau: temperature of the student (Eq. 1).
    """
    logs = [(output_BK / tau).log_softmax(dim=1) for output_BK in students]
    losses = [
        -(target_BK * log_BK).sum(dim=1).mean()
        for a, target_BK in enumerate(targets)
        for v, log_BK in enumerate(logs)
        if v != a
    ]
    return torch.stack(losses).mean()


class Method(nn.Module):
    """A teacher, the last layers of both networks, and the centre of the teacher's outputs."""

    centre_K: Tensor

    def __init__(self, online: nn.Module, feature_dim: int, prototypes: int) -> None:
        """Begin with a teacher that is a copy of the student."""
        super().__init__()
        self.teacher = copy.deepcopy(online)
        self.last = nn.Linear(feature_dim, prototypes, bias=False)
        self.teacher_last = copy.deepcopy(self.last)
        self.teacher.requires_grad_(False)
        self.teacher_last.requires_grad_(False)
        self.register_buffer("centre_K", torch.zeros(prototypes))

    def step(
        self,
        online: nn.Module,
        views: Sequence[Tensor],
        epoch: int,
        tau: float,
        teacher_tau: float,
        teacher_tau_start: float,
        teacher_tau_epochs: int,
        centre_momentum: float,
        frozen_epochs: int,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss, and the entropy of the teacher's targets in nats."""
        last_KD = normalize(self.last.weight, dim=1)
        if epoch < frozen_epochs:
            last_KD = last_KD.detach()
        students = [online(view).projection_ND @ last_KD.T for view in views]
        with torch.no_grad():
            last_KD = normalize(self.teacher_last.weight, dim=1)
            teachers = [self.teacher(view).projection_ND @ last_KD.T for view in views[:GLOBAL]]
            risen = min(1.0, epoch / teacher_tau_epochs) if teacher_tau_epochs else 1.0
            sharp = teacher_tau_start + risen * (teacher_tau - teacher_tau_start)
            targets = [((out_BK - self.centre_K) / sharp).softmax(dim=1) for out_BK in teachers]
            self.centre_K.lerp_(torch.cat(teachers).mean(dim=0), 1 - centre_momentum)  # Eq. 4
        entropy = -torch.xlogy(targets[0], targets[0]).sum(dim=1).mean()
        return cross_entropy(students, targets, tau=tau), {"teacher_entropy": entropy}

    def after_step(self, online: nn.Module, step: int, steps: int, teacher_momentum: float) -> None:
        """Let the teacher follow the student; its momentum rises to 1 by a cosine (Sec. 3.1)."""
        share = (1 - teacher_momentum) * (math.cos(math.pi * step / steps) + 1) / 2
        followed = zip(
            [*self.teacher.parameters(), self.teacher_last.weight],
            [*online.parameters(), self.last.weight],
            strict=True,
        )
        for mine, theirs in followed:
            mine.lerp_(theirs, share)
