"""Trained encoders for use in other programs: loaded as a module or exported as safetensors.

`export_encoders` writes <folder>/<training id>/ with
model.safetensors      the backbone, named as torchvision and timm do
projector.safetensors  the head whose outputs pretraining compares
config.json            what the encoder is; timm's config too, if timm has the network
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError
from torch import nn

from bench import __version__
from bench.cells import CELLS
from bench.cells.architectures import timm_name
from bench.cells.cell import Cell
from bench.cells.pretrain import EncoderCell
from bench.environment import extra
from bench.errors import BenchError, StoreError
from bench.experiments.encoder_folder import TrainedFolder, encoder_of
from bench.files.atomic import read_json, to_json, write_whole
from bench.files.messages import warn
from bench.methods.online_network import Online
from bench.results.digests import TRAINED
from bench.results.folder import damage_of
from bench.results.provenance import flatten
from bench.results.reader import Results
from bench.results.store import State, Store
from bench.train.preprocessing import Preprocessing, preprocessing_of


class LoadedEncoder(NamedTuple):
    """A frozen encoder and its preprocessing, which can be unpacked like a pair."""

    encoder: nn.Module
    """The network in evaluation mode: float32 (B, 3, S, S) to features (B, `feature_dim`)."""
    preprocess: Preprocessing
    """Function from a PIL image or uint8 pixels (3, H, W) or (B, 3, H, W) to the encoder's
    input."""


def encoder_of_cell(
    name: str, results: Path, data: Path, command: Callable[[Cell], str]
) -> LoadedEncoder:
    """Return the encoder of the finished cell with this id.

    Args:
        name: id of the cell.
        results: the folder of results.
        data: the folder of data sets.
        command: function that returns the command that computes a cell, for messages.

    Raises:
        BenchError: the cell or its encoder does not exist.
    """
    cell = trained_cell(name, results)
    if cell.training_id is None:
        raise BenchError(
            f"cell {name} belongs to experiment {cell.experiment}, which stores no encoder"
        )
    home = TrainedFolder(results / TRAINED / cell.training_id)
    if not home.is_done:
        raise StoreError(
            f"{results}: this folder holds the numbers of cell {name}, but not its "
            f"encoder; {command(cell)} trains the encoder"
        )
    if (why := damage_of(home, whole=True)) is not None:
        raise StoreError(why)
    network = with_feature_dim(encoder_of(cell.features, network_of(cell, home)), cell)
    return LoadedEncoder(network, preprocessing_of(cell.trained, data))


def trained_cell(name: str, results: Path) -> EncoderCell:
    """Return the cell with this id, which must have a trained encoder.

    Raises:
        BenchError: the cell does not exist, has another version, or has no encoder.
    """
    reader = Results(results)
    for experiment, kind in CELLS.items():
        fields = reader.fields(experiment, name)
        if not fields:
            continue
        if not issubclass(kind, EncoderCell):
            raise BenchError(
                f"cell {name} belongs to experiment {experiment}, which stores no encoder"
            )
        try:
            cell = kind.model_validate(fields)
        except ValidationError:
            version = fields.get("version")
            raise BenchError(
                f"cell {name} was computed by version {version} of experiment {experiment}, "
                f"but this code has version {kind.model_fields['version'].default}"
            ) from None
        return cell
    raise BenchError(
        f"{results}: there is no cell {name!r}; the column `cell` of bench.load lists all cells"
    )


def network_of(cell: EncoderCell, home: TrainedFolder) -> Online:
    """Return the trained network, on the CPU, in evaluation mode."""
    online = Online(cell.trained)
    home.load_encoder(online, "cpu")
    return online.eval()


def with_feature_dim(encoder: nn.Module, cell: EncoderCell) -> nn.Module:
    """Return the module with its number of features as attribute `feature_dim`."""
    if not hasattr(encoder, "feature_dim"):  # with a projector behind it
        encoder.feature_dim = cell.feature_dim  # type: ignore[assignment]
    return encoder


CONFIG, MODEL, PROJECTOR = "config.json", "model.safetensors", "projector.safetensors"
FORMAT = 1  # of the part of the config that is ours

Config = dict[str, Any]


def export_encoders(cells: Sequence[Cell], store: Store, folder: Path, data: Path) -> list[Config]:
    """Write each encoder of finished cells once; return their configs.

    Args:
        cells: finished cells. Those without a stored encoder are omitted.
        store: results folder with the encoders.
        folder: output folder, with one subfolder per encoder.
        data: the folder of data sets.

    Raises:
        BenchError: the package safetensors is missing.
    """
    extra("safetensors", "--as safetensors")
    trained: dict[str, list[EncoderCell]] = {}
    states = store.states(cells)
    for cell, state in zip(cells, states, strict=True):
        if not isinstance(cell, EncoderCell) or cell.training_id is None:
            continue
        if state.state == State.DONE or state.lacks:
            trained.setdefault(cell.training_id, []).append(cell)
    configs = []
    for name, sharing in trained.items():
        home = TrainedFolder(store.root / TRAINED / name)
        if not home.is_done:
            continue
        if (why := damage_of(home, whole=True)) is not None:
            warn(f"{why}; this encoder is left out")
            continue
        preprocess = preprocessing_of(sharing[0].trained, data)
        configs.append(_write(sharing, home, folder / name, preprocess))
    return configs


def _write(
    cells: Sequence[EncoderCell], home: TrainedFolder, folder: Path, preprocess: Preprocessing
) -> Config:
    """Write the encoder that cells share; return its config, which is written last."""
    save = extra("safetensors.torch", "--as safetensors").save
    online = network_of(cells[0], home)
    config = _config(cells, home, preprocess) | {"num_features": online.backbone.feature_dim}
    named = {
        "training": config["bench"]["training"],
        "cells": " ".join(config["bench"]["cells"]),
        "commit": config["bench"]["origin"].get("code.commit"),
    }
    metadata = {"format": "pt"} | {k: v for k, v in named.items() if v}
    for name, part in ((MODEL, online.backbone), (PROJECTOR, online.projector)):
        tensors = {key: tensor.contiguous() for key, tensor in part.state_dict().items()}
        write_whole(folder / name, save(tensors, metadata))
    write_whole(folder / CONFIG, to_json(config))
    return config


def _config(cells: Sequence[EncoderCell], home: TrainedFolder, preprocess: Preprocessing) -> Config:
    cell, size = cells[0], preprocess.size
    config: Config = {
        "bench": {
            "format": FORMAT,
            "version": __version__,
            "training": cell.training_id,
            "cells": [exported.id for exported in cells],
            "cell": cell.model_dump(mode="json"),
            "preprocess": vars(preprocess),
            "origin": flatten(home.provenance()),
        },
    }
    name = timm_name(cell.arch, cell.stem, cell.width, cell.colour)
    if name is not None:
        resize = preprocess.crop[0] if preprocess.crop else size
        config |= {
            "architecture": name,
            "num_classes": 0,
            "pretrained_cfg": {
                "input_size": [3, size, size],
                "mean": preprocess.mean,
                "std": preprocess.std,
                "interpolation": "bilinear",
                "crop_pct": size / resize,
                "num_classes": 0,
                "first_conv": "conv1",
                "classifier": "fc",
            },
        }
    return config


def encoder_of_export(folder: Path) -> LoadedEncoder:
    """Return the encoder in a folder that `export_encoders` wrote.

    Raises:
        BenchError: the folder is not such an export, has another version, or safetensors is
            missing.
    """
    load = extra("safetensors.torch", "an exported encoder").load
    config = read_json(folder / CONFIG)
    try:
        described = config["bench"]
        cell = CELLS[described["cell"]["experiment"]].model_validate(described["cell"])
        assert isinstance(cell, EncoderCell)
        given: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in described["preprocess"].items()
        }
        preprocess = Preprocessing(**given)
    except (AssertionError, KeyError, TypeError, ValidationError) as fault:
        raise StoreError(
            f"{folder / CONFIG}: this is not the config.json of an encoder exported by this "
            "version of bench"
        ) from fault
    online = Online(cell.trained)
    for name, part in ((MODEL, online.backbone), (PROJECTOR, online.projector)):
        try:
            part.load_state_dict(load((folder / name).read_bytes()))
        except Exception as fault:  # of files that are not there, torn, or of another network
            why = str(fault).strip().partition("\n")[0]
            raise StoreError(
                f"{folder / name}: this file does not hold the weights that config.json "
                f"describes ({why})"
            ) from fault
    encoder = with_feature_dim(encoder_of(cell.features, online.eval()), cell)
    return LoadedEncoder(encoder, preprocess)
