"""SwAV (arXiv:2006.09882). Shapes: B images, D dimensions, K prototypes, M stored outputs."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

GLOBAL = 2  # views that are assigned; small crops only predict


def sinkhorn(score_BK: Tensor, *, epsilon: float, steps: int) -> Tensor:
    """Return assignments (B, K), rows of sum 1, that use prototypes about equally (Eqs. 3 to 5).

    Args:
        score_BK: similarities of outputs with prototypes.
        epsilon: above 0; smoother the larger.
        steps: how often columns and rows are brought to equal sums.
    """
    Q_BK = ((score_BK - score_BK.max()) / epsilon).exp()  # a common factor cancels
    for _ in range(steps):
        Q_BK = Q_BK / Q_BK.sum(dim=0)
        Q_BK = Q_BK / Q_BK.sum(dim=1, keepdim=True)
    return Q_BK


class Method(nn.Module):
    """Prototypes, and outputs of earlier batches that are assigned together with a batch's."""

    stored_VMD: Tensor

    def __init__(self, feature_dim: int, batch_size: int, prototypes: int, stored: int) -> None:
        """Begin with random prototypes and nothing stored."""
        super().__init__()
        self.prototypes = nn.Linear(feature_dim, prototypes, bias=False)
        self.after_step()
        kept = stored // batch_size * batch_size
        self.register_buffer("stored_VMD", torch.zeros(GLOBAL, kept, feature_dim))

    def step(
        self,
        online: nn.Module,
        views: Sequence[Tensor],
        epoch: int,
        tau: float,
        epsilon: float,
        sinkhorn_steps: int,
        frozen_epochs: int,
        stored_from_epoch: int,
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the mean cross-entropy of each view with the assignments of each other view."""
        weight_KD = self.prototypes.weight
        if epoch < frozen_epochs:
            weight_KD = weight_KD.detach()
        outputs = [online(view).projection_ND for view in views]
        scores = [output_BD @ weight_KD.T for output_BD in outputs]
        with torch.no_grad():
            targets = []
            for a, stored_MD in enumerate(self.stored_VMD):
                score_BK = scores[a]
                if epoch >= stored_from_epoch and stored_MD.any(dim=1).all():
                    score_BK = torch.cat([score_BK, stored_MD @ weight_KD.T])
                target_BK = sinkhorn(score_BK, epsilon=epsilon, steps=sinkhorn_steps)
                targets.append(target_BK[: len(scores[a])])
                stored_MD.copy_(torch.cat([outputs[a], stored_MD])[: len(stored_MD)])
        logs = [(score_BK / tau).log_softmax(dim=1) for score_BK in scores]
        losses = [
            -(target_BK * log_BK).sum(dim=1).mean()
            for a, target_BK in enumerate(targets)
            for v, log_BK in enumerate(logs)
            if v != a
        ]
        entropy = -torch.xlogy(targets[0], targets[0]).sum(dim=1).mean()
        return torch.stack(losses).mean(), {"assignment_entropy": entropy}

    @torch.no_grad()
    def after_step(self) -> None:
        """Bring prototypes to unit length."""
        self.prototypes.weight.copy_(normalize(self.prototypes.weight, dim=1))
