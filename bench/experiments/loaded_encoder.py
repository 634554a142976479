"""Trained encoders for use elsewhere: a module, and what makes its input of an image."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError
from torch import nn

from bench.cells import CELLS
from bench.cells.cell import Cell
from bench.cells.pretrain import Pretrain
from bench.errors import BenchError, StoreError
from bench.experiments.encoder_folder import TrainedFolder
from bench.experiments.layers import encoder_of
from bench.methods.online_network import Online
from bench.results.damage import damage_of
from bench.results.digests import TRAINED
from bench.results.reader import Results
from bench.train.preprocessing import Preprocessing, preprocessing_of


class LoadedEncoder(NamedTuple):
    """A frozen encoder and its input's preparation; it unpacks into the two."""

    encoder: nn.Module
    """In evaluation mode: float32 (B, 3, S, S) to features (B, `feature_dim`)."""
    preprocess: Preprocessing
    """A PIL image or uint8 pixels (3, H, W) or (B, 3, H, W), to what the encoder takes."""


def encoder_of_cell(
    name: str, results: Path, data: Path, command: Callable[[Cell], str]
) -> LoadedEncoder:
    """Return the encoder of the finished cell with an id.

    Args:
        name: the id.
        results: the folder of results.
        data: the folder of data sets.
        command: says how a cell is computed.

    Raises:
        BenchError: there is no such cell, or no encoder of it.
    """
    cell = trained_cell(name, results)
    home = TrainedFolder(results / TRAINED / cell.training_id)
    if not home.is_done:
        raise StoreError(
            f"{results}: holds the numbers of cell {name}, not its encoder; {command(cell)} "
            "trains it"
        )
    if (why := damage_of(home, whole=True)) is not None:
        raise StoreError(why)
    return LoadedEncoder(_frozen(cell, home), preprocessing_of(cell, data))


def trained_cell(name: str, results: Path) -> Pretrain:
    """Return the cell with an id, one that has a trained encoder.

    Raises:
        BenchError: there is no such cell, it is of another version, or it has no encoder.
    """
    reader = Results(results)
    for experiment, kind in CELLS.items():
        fields = reader.fields(experiment, name)
        if not fields:
            continue
        if not issubclass(kind, Pretrain):
            raise BenchError(f"cell {name} is of experiment {experiment}, which keeps no encoder")
        try:
            cell = kind.model_validate(fields)
        except ValidationError:
            version = fields.get("version")
            raise BenchError(
                f"cell {name} is of {experiment} version {version}; this code has version "
                f"{kind.model_fields['version'].default}"
            ) from None
        return cell
    raise BenchError(f"{results}: no cell {name!r}; the column `cell` of bench.load lists them")


def network_of(cell: Pretrain, home: TrainedFolder) -> Online:
    """Return the trained network, on the CPU, in evaluation mode."""
    online = Online(cell)
    home.load_encoder(online, "cpu")
    return online.eval()


def _frozen(cell: Pretrain, home: TrainedFolder) -> nn.Module:
    """Return what the evaluations of a cell take features from."""
    return with_feature_dim(encoder_of(cell.features, network_of(cell, home)), cell)


def with_feature_dim(encoder: nn.Module, cell: Pretrain) -> nn.Module:
    """Return the module, which tells how many features it gives as `feature_dim`."""
    if not hasattr(encoder, "feature_dim"):  # with a projector behind it
        encoder.feature_dim = cell.feature_dim  # type: ignore[assignment]
    return encoder
