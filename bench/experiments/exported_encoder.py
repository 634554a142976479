"""Trained encoders as other programs read them: safetensors, and a config beside them.

<folder>/<training id>/model.safetensors      the backbone, named as torchvision and timm do
<folder>/<training id>/projector.safetensors  the head that pretraining compares outputs of
<folder>/<training id>/config.json            what it is; timm's too, where timm has it
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bench import __version__
from bench.cells import CELLS
from bench.cells.architectures import timm_name
from bench.cells.cell import Cell
from bench.cells.pretrain import Pretrain
from bench.environment import extra
from bench.errors import StoreError
from bench.experiments.encoder_folder import TrainedFolder
from bench.experiments.layers import encoder_of
from bench.experiments.loaded_encoder import LoadedEncoder, network_of, with_feature_dim
from bench.files.atomic import read_json, to_json, write_whole
from bench.files.messages import warn
from bench.methods.online_network import Online
from bench.results.damage import damage_of
from bench.results.digests import TRAINED
from bench.results.provenance import flatten
from bench.results.store import State, Store
from bench.train.preprocessing import Preprocessing, preprocessing_of

CONFIG, MODEL, PROJECTOR = "config.json", "model.safetensors", "projector.safetensors"
FORMAT = 1  # of the part of the config that is ours

Config = dict[str, Any]


def export_encoders(cells: Sequence[Cell], store: Store, folder: Path, data: Path) -> int:
    """Write the encoders of finished cells, each once; return how many there were.

    Args:
        cells: those without an encoder, or whose encoder is not there, are left out.
        store: where they are.
        folder: gets a folder for each encoder.
        data: the folder of data sets.

    Raises:
        BenchError: the package safetensors is missing.
    """
    extra("safetensors", "--as safetensors")
    trained: dict[str, list[Pretrain]] = {}
    states = store.states(cells)
    for cell, state in zip(cells, states, strict=True):
        if isinstance(cell, Pretrain) and (state.state == State.DONE or state.lacks):
            trained.setdefault(cell.training_id, []).append(cell)
    count = 0
    for name, sharing in trained.items():
        home = TrainedFolder(store.root / TRAINED / name)
        if not home.is_done:
            continue
        if (why := damage_of(home, whole=True)) is not None:
            warn(f"{why}; it is left out")
            continue
        _write(sharing, home, folder / name, preprocessing_of(sharing[0], data))
        count += 1
    return count


def _write(
    cells: Sequence[Pretrain], home: TrainedFolder, folder: Path, preprocess: Preprocessing
) -> None:
    """Write the encoder that cells share; the config comes last."""
    save = extra("safetensors.torch", "--as safetensors").save
    online = network_of(cells[0], home)
    for name, part in ((MODEL, online.backbone), (PROJECTOR, online.projector)):
        tensors = {key: tensor.contiguous() for key, tensor in part.state_dict().items()}
        write_whole(folder / name, save(tensors, {"format": "pt"}))
    config = _config(cells, home, preprocess) | {"num_features": online.backbone.feature_dim}
    write_whole(folder / CONFIG, to_json(config))


def _config(cells: Sequence[Pretrain], home: TrainedFolder, preprocess: Preprocessing) -> Config:
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
    """Return the encoder of a folder that `export_encoders` wrote.

    Raises:
        BenchError: it is no such folder, or of another version, or safetensors is missing.
    """
    load = extra("safetensors.torch", "an exported encoder").load
    config = read_json(folder / CONFIG)
    try:
        described = config["bench"]
        cell = CELLS[described["cell"]["experiment"]].model_validate(described["cell"])
        assert isinstance(cell, Pretrain)
        given: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in described["preprocess"].items()
        }
        preprocess = Preprocessing(**given)
    except (AssertionError, KeyError, TypeError, ValidationError) as fault:
        why = "is not the config of an encoder that this version of bench exports"
        raise StoreError(f"{folder / CONFIG}: {why}") from fault
    online = Online(cell)
    for name, part in ((MODEL, online.backbone), (PROJECTOR, online.projector)):
        try:
            part.load_state_dict(load((folder / name).read_bytes()))
        except Exception as fault:  # of files that are not there, torn, or of another network
            why = str(fault).strip().partition("\n")[0]
            raise StoreError(f"{folder / name}: holds no such weights ({why})") from fault
    encoder = with_feature_dim(encoder_of(cell.features, online.eval()), cell)
    return LoadedEncoder(encoder, preprocess)
