"""Training state of encoders of raw audio, by contrast or with labels.

Shapes: B recordings of a batch, T samples, F frames, N masked frames, K distractors, D dimensions.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, normalize, pad

from bench.cells.speech import Speech, SpeechBaseline
from bench.data.recordings import Corpus, crop
from bench.data.streams import Purpose, stream
from bench.errors import DataFailure
from bench.losses.bounds import q_b
from bench.methods.negatives import Similarities
from bench.methods.objectives import Pair, make_objective
from bench.networks.hugging_face import drawing, frames_of, least_samples, make_network
from bench.train.optimisers import optimiser_of
from bench.train.trainable import EpochMeans, FiniteLosses, Trainable

if TYPE_CHECKING:
    from transformers import Wav2Vec2ForPreTraining


class Heard(NamedTuple):
    """A batch: zero-padded waveforms, the mask of valid samples, and the indices."""

    wave_BT: Tensor
    present_BT: Tensor
    frames: list[int]  # of each recording
    rows: list[int]


class _Hearing(Trainable):
    """What both trainings share: batches of crops, the optimiser and the learning rate."""

    probes: EpochMeans

    def __init__(
        self,
        cell: Any,
        corpus: Corpus,
        device: str,
        network: nn.Module,
        watched: Sequence[str],
    ) -> None:
        self.cell, self.corpus, self.device = cell, corpus, device
        self.fingerprint = corpus.fingerprint
        self.losses = FiniteLosses(device, at_once=device == "cpu")
        self.length = max(round(cell.crop_s * cell.sample_rate), least_samples(cell.arch))
        self.steps_an_epoch = len(corpus.train.waves) // cell.batch_size
        if not self.steps_an_epoch:
            count = len(corpus.train.waves)
            raise DataFailure(
                f"batch_size is {cell.batch_size}, but {corpus.name} has only {count} "
                "training recordings"
            )
        self.steps = cell.epochs * self.steps_an_epoch
        self.online = network.to(device)
        self.optimiser = optimiser_of(cell, self.online)
        self.probes = EpochMeans(watched).to(device)

    def heard(self, epoch: int, index: int) -> Heard:
        """Return one batch of an epoch, whatever was asked before."""
        order = stream(self.cell.seed, Purpose.ORDER, epoch).permutation(
            len(self.corpus.train.waves)
        )
        size = self.cell.batch_size
        rows = order[index * size : (index + 1) * size].tolist()
        draw = stream(self.cell.seed, Purpose.VIEWS, epoch, index)
        waves = [crop(self.corpus.train.waves[row], self.length, draw) for row in rows]
        longest = max(map(len, waves))
        wave_BT = torch.stack([pad(wave, (0, longest - len(wave))) for wave in waves])
        lengths_B = torch.tensor([len(wave) for wave in waves])
        present_BT = (torch.arange(longest) < lengths_B[:, None]).long()
        frames = [frames_of(self.cell.arch, len(wave)) for wave in waves]
        return Heard(wave_BT.to(self.device), present_BT.to(self.device), frames, rows)


class SpeechTraining(_Hearing):
    """Encoder that distinguishes quantised masked frames from distractors (arXiv:2006.11477)."""

    cell: Speech
    online: "Wav2Vec2ForPreTraining"

    def __init__(self, cell: Speech, corpus: Corpus, device: str) -> None:
        """Initialise from the cell's seed.

        Raises:
            DataFailure: there are fewer recordings than a batch holds.
        """
        network = make_network(cell.arch, stream(cell.seed, Purpose.INIT, 0))
        super().__init__(
            cell, corpus, device, network, ("train_loss", "train_top1", "q_b", "perplexity")
        )
        self.objective = make_objective(cell)

    def step(self, step: int) -> None:
        """Do one optimiser step.

        Raises:
            Diverged: the loss is checked immediately and not finite. The weights are unchanged.
        """
        epoch, index = divmod(step, self.steps_an_epoch)
        batch, cell = self.heard(epoch, index), self.cell
        draw = stream(cell.seed, Purpose.NEGATIVES, epoch, index)
        mask_BF = draw_mask(batch.frames, cell.mask_prob, cell.mask_length, draw)
        others_NK = draw_distractors(mask_BF, cell.K, draw).to(self.device)
        decayed = cell.gumbel_start * cell.gumbel_decay**step
        self.online.set_gumbel_temperature(max(cell.gumbel_end, decayed))
        with drawing(stream(cell.seed, Purpose.TRAIN, epoch, index), self.device):
            loss, watched = self.loss(batch, mask_BF.to(self.device), others_NK)
        self.descend(step, loss)
        self.probes.add(watched)

    def loss(self, batch: Heard, mask_BF: Tensor, others_NK: Tensor) -> tuple[Tensor, Tensor]:
        """Return the loss in nats, and monitored quantities of each masked frame.

        The loss is the mean objective over masked frames plus the diversity term (wav2vec 2.0, Eq.
        4, from the perplexity of the code words). A frame is omitted if all its distractors have
        the code word of the positive.

        Args:
            batch: the recordings.
            mask_BF: whether each frame is masked, bool (B, F).
            others_NK: distractors of each masked frame, as indices of masked frames.
        """
        out = self.online(batch.wave_BT, batch.present_BT, mask_time_indices=mask_BF)
        predicted_ND = out.projected_states[mask_BF]
        target_ND = out.projected_quantized_states[mask_BF]
        pos_N, neg_NK = similarities(predicted_ND, target_ND, others_NK)
        some_N = neg_NK.isfinite().any(dim=1)
        pos_N, neg_NK = pos_N[some_N], neg_NK[some_N]
        query = predicted_ND[some_N]
        losses_N = self.objective(Pair(query, query, query, Similarities(pos_N, neg_NK)))
        words = self.online.config.num_codevectors_per_group
        words *= self.online.config.num_codevector_groups
        diversity = (words - out.codevector_perplexity) / words
        loss = losses_N.sum() / len(some_N) + self.cell.diversity_weight * diversity
        with torch.no_grad():
            right_N = 100.0 * (pos_N > neg_NK.amax(dim=1))
            perplexity_N = out.codevector_perplexity.expand_as(pos_N)
            watched = [losses_N, right_N, q_b(pos_N, neg_NK, tau=self.cell.tau), perplexity_N]
        return loss, torch.stack([values.detach() for values in watched])


def draw_mask(
    frames: Sequence[int], mask_prob: float, mask_length: int, draw: np.random.Generator
) -> Tensor:
    """Return which frames are masked, bool (B, F), False after a recording's last frame.

    Source: wav2vec 2.0, Sec. 3.1. A share of the frames, sampled without replacement, start spans,
    which may overlap. Each recording has at least one span and two masked frames. A span has at
    most half of the frames.

    Args:
        frames: number of frames of each recording, at least 4.
        mask_prob: share of frames that start a span; their number is rounded randomly.
        mask_length: number of frames of a span.
        draw: source of randomness.
    """
    mask = np.zeros((len(frames), max(frames)), dtype=np.bool_)
    for row, count in zip(mask, frames, strict=True):
        length = min(mask_length, count // 2)
        starts = count - length + 1
        spans = min(starts, max(1, int(mask_prob * count + draw.random())))
        begins = draw.choice(starts, spans, replace=False)
        row[(begins[:, None] + np.arange(length)).ravel()] = True
    return torch.from_numpy(mask)


def draw_distractors(mask_BF: Tensor, K: int, draw: np.random.Generator) -> Tensor:
    """Return K other masked frames of the recording for each masked frame, int64 (N, K).

    Distractors are sampled uniformly with replacement. They are indices of the batch's masked
    frames, in order.

    Args:
        mask_BF: whether each frame is masked, at least two per recording.
        K: distractors per frame.
        draw: source of randomness.
    """
    parts, first = [], 0
    for count in mask_BF.sum(dim=1).tolist():
        other = draw.integers(count - 1, size=(count, K))
        other += other >= np.arange(count)[:, None]
        parts.append(first + other)
        first += count
    return torch.from_numpy(np.concatenate(parts))


def similarities(
    predicted_ND: Tensor, target_ND: Tensor, others_NK: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the cosine of each prediction with its target, (N,), and distractors, (N, K).

    A distractor that equals the target gets -inf.
    """
    negative_NKD = target_ND[others_NK]
    query_ND = normalize(predicted_ND.float(), dim=-1)
    pos_N = (query_ND * normalize(target_ND.float(), dim=-1)).sum(dim=-1)
    neg_NK = torch.einsum("nd,nkd->nk", query_ND, normalize(negative_NKD.float(), dim=-1))
    same_NK = (negative_NKD == target_ND[:, None]).all(dim=-1)
    return pos_N, neg_NK.masked_fill(same_NK, -torch.inf)


class LabelTraining(_Hearing):
    """The same network trained with labels: one linear layer per task on the last layer's mean."""

    cell: SpeechBaseline
    online: nn.ModuleDict

    def __init__(self, cell: SpeechBaseline, corpus: Corpus, device: str) -> None:
        """Initialise from the cell's seed.

        Raises:
            DataFailure: there are fewer recordings than a batch holds.
        """
        whole = make_network(cell.arch, stream(cell.seed, Purpose.INIT, 0))
        with drawing(stream(cell.seed, Purpose.INIT, 1), "cpu"):
            width = whole.config.hidden_size
            heads = {task: nn.Linear(width, count) for task, count in corpus.classes.items()}
        self.heads = nn.ModuleDict(heads)
        network = nn.ModuleDict({"encoder": whole.wav2vec2, "heads": self.heads})
        super().__init__(cell, corpus, device, network, ("train_loss",))

    def step(self, step: int) -> None:
        """Do one optimiser step on the sum of the tasks' cross-entropies.

        Raises:
            Diverged: the loss is checked immediately and not finite. The weights are unchanged.
        """
        epoch, index = divmod(step, self.steps_an_epoch)
        batch = self.heard(epoch, index)
        none_BF = torch.zeros(len(batch.rows), max(batch.frames), dtype=torch.bool)
        with drawing(stream(self.cell.seed, Purpose.TRAIN, epoch, index), self.device):
            state_BFD = self.online["encoder"](
                batch.wave_BT, batch.present_BT, mask_time_indices=none_BF.to(self.device)
            ).last_hidden_state
        frames_B = torch.tensor(batch.frames, device=self.device)
        there_BF = torch.arange(state_BFD.shape[1], device=self.device) < frames_B[:, None]
        mean_BD = (state_BFD * there_BF[..., None]).sum(dim=1) / frames_B[:, None]
        losses = [
            cross_entropy(head(mean_BD), self.corpus.train.labels[task][batch.rows].to(self.device))
            for task, head in self.heads.items()
        ]
        loss = torch.stack(losses).sum()
        self.descend(step, loss)
        self.probes.add(loss.detach().expand(1, len(batch.rows)))
