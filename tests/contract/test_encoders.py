"""Trained encoders in other hands: loaded, exported as safetensors, as timm's networks."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import bench
from bench.cells.architectures import timm_name
from bench.cells.pretrain import Pretrain
from bench.data.images import load_digits
from bench.evaluate.features import extract
from bench.experiments.encoder_folder import TrainedFolder
from bench.experiments.loaded_encoder import (
    LoadedEncoder,
    export_encoders,
    network_of,
    trained_cell,
)
from bench.methods.online_network import Online
from bench.results.store import Store
from bench.train.preprocessing import Preprocessing, preprocessing_of
from bench.train.sources import open_source
from tests.fakes.cells import small_cell
from tests.fakes.results import ORIGIN, cells_of, finish
from tests.fakes.suites import CLASSIFIER, DIGITS, changed
from tests.fakes.workspace import Workspace

pytestmark = pytest.mark.slow
ONE = changed(DIGITS, {"fixed.epochs": 1, "grid.knn_k": [3]})


def keep_encoder(root: Path, cell: Pretrain) -> None:
    """Let a cell and its encoder, of first values, be done in a results folder."""
    finish(root, [cell], lambda _: {"knn_top1": 50.0})
    home = TrainedFolder(root / "trained" / cell.training_id)
    home.path.mkdir(parents=True)
    online = Online(cell)
    for module in online.modules():
        if isinstance(module, torch.nn.BatchNorm2d):  # as after some steps
            assert module.running_mean is not None
            module.running_mean.uniform_(-1, 1, generator=torch.Generator().manual_seed(0))
    home.write_encoder(online)
    home.finish({"train_loss": 1.0}, {}, ORIGIN)


def pixels(side: int, count: int = 3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randint(256, (count, 3, side, side), dtype=torch.uint8, generator=generator)


@pytest.fixture
def trained(workspace: Workspace) -> Workspace:
    workspace.suite(ONE)
    bench.run("digits", executor="inline")
    return workspace


def test_a_loaded_encoder_gives_the_features_that_were_evaluated(trained: Workspace) -> None:
    """The kNN accuracy with its features is the cell's own, from uint8 pixels and from images."""
    frame = bench.load("digits")
    encoder, preprocess = bench.load_encoder(frame.cell[0])
    assert not encoder.training
    cell = trained_cell(frame.cell[0], Path("results"))
    source = open_source(cell.trained, Path("datasets"), "cpu")
    images = load_digits().test.pixels
    expected = next(iter(source.plain("test")))
    assert torch.equal(preprocess(images)[: len(expected)], expected)
    pictures = [Image.fromarray(p.permute(1, 2, 0).numpy()) for p in images[:4]]
    assert torch.equal(torch.stack([preprocess(p) for p in pictures]), expected[:4])
    home = TrainedFolder(Path("results/trained") / cell.trained.training_id)
    backbone = network_of(cell, home).backbone
    with torch.no_grad():
        assert torch.equal(encoder(expected), extract(backbone, [expected]))
        assert encoder(preprocess(images[0])[None]).shape == (1, encoder.feature_dim)


def test_tables_hold_no_encoder_and_say_which_command_makes_one(trained: Workspace) -> None:
    assert trained.call("export", "digits", "--to", "tables").status == 0
    name = str(bench.load("digits").cell[0])
    with pytest.raises(bench.BenchError) as told:
        bench.load_encoder(name, results="tables")
    command = "bench run digits --scale tiny --seeds 0"
    assert str(told.value) == (
        f"tables: this folder holds the numbers of cell {name}, but not its "
        f"encoder; `{command}` trains the encoder"
    )
    assert trained.call(*command.split()[1:], "--executor", "inline").status == 0


@pytest.mark.parametrize("experiment", ["supervised", "none"])
def test_a_cell_without_an_encoder_is_told(workspace: Workspace, experiment: str) -> None:
    path = workspace.suite(CLASSIFIER)
    (cell,) = cells_of(path, "tiny")
    finish(workspace.root / "results", [cell], lambda _: {"test_top1": 50.0})
    if experiment == "supervised":
        with pytest.raises(
            bench.BenchError, match=r"belongs to experiment supervised, which stores no"
        ):
            bench.load_encoder(cell.id)
    else:
        with pytest.raises(
            bench.BenchError, match=r"^results: there is no cell 'abc'; the column `cell`"
        ):
            bench.load_encoder("abc")


def test_a_damaged_encoder_is_not_loaded(workspace: Workspace) -> None:
    cell = small_cell()
    keep_encoder(workspace.root / "results", cell)
    assert isinstance(bench.load_encoder(cell.id), LoadedEncoder)
    (workspace.root / "results" / "trained" / cell.training_id / "encoder.pt").write_bytes(b"x")
    with pytest.raises(bench.BenchError, match=r"encoder\.pt: the SHA-256 of this file differs"):
        bench.load_encoder(cell.id)


@pytest.mark.parametrize(
    "changes", [{}, {"features": "projector"}, {"method": "cmc"}, {"arch": "resnet18"}]
)
def test_safetensors_give_the_same_features(workspace: Workspace, changes: dict[str, Any]) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    cell = small_cell(**changes)
    root = workspace.root
    keep_encoder(root / "results", cell)
    (written,) = export_encoders([cell], Store(root / "results"), root / "out", root)
    folder = root / "out" / cell.training_id
    ours, preprocess = bench.load_encoder(cell.id)
    theirs, same = bench.load_encoder(str(folder))
    images = preprocess(pixels(16))
    assert same == preprocess
    with torch.no_grad():
        assert torch.equal(ours(images), theirs(images))
    config = json.loads((folder / "config.json").read_text())
    assert config == json.loads(json.dumps(written))
    assert config["bench"]["cells"] == [cell.id]
    without_torch = numpy.load_file(folder / "model.safetensors")
    expected = network_of(cell, TrainedFolder(root / "results/trained" / cell.training_id))
    state = expected.backbone.state_dict()
    assert set(without_torch) == set(state)
    assert all(np.array_equal(without_torch[k], state[k].numpy()) for k in state)


def test_an_export_that_is_none_is_told(workspace: Workspace) -> None:
    pytest.importorskip("safetensors")
    cell, root = small_cell(), workspace.root
    keep_encoder(root / "results", cell)
    export_encoders([cell], Store(root / "results"), root / "out", root)
    folder = root / "out" / cell.training_id
    (folder / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(
        bench.BenchError, match=r"model\.safetensors: this file does not hold the weights"
    ):
        bench.load_encoder(str(folder))
    (folder / "config.json").write_text("{}")
    with pytest.raises(bench.BenchError, match=r"config\.json: this is not the config\.json of an"):
        bench.load_encoder(str(folder))


@pytest.mark.parametrize("arch", ["resnet18", "resnet50"])
def test_timm_has_the_same_network(workspace: Workspace, arch: str) -> None:
    """Equal features from timm's own code and preprocessing values, read from the export."""
    timm = pytest.importorskip("timm")
    pytest.importorskip("safetensors")
    cell = small_cell(arch=arch, stem="imagenet", width=64, image_size=32, bn_groups=1)
    assert timm_name("resnet18", "cifar", 64, "rgb") is timm_name("small", "imagenet", 64, "rgb")
    root = workspace.root
    keep_encoder(root / "results", cell)
    export_encoders([cell], Store(root / "results"), root / "out", root)
    folder = root / "out" / cell.training_id
    ours, preprocess = bench.load_encoder(cell.id)
    theirs = timm.create_model(f"local-dir:{folder}", pretrained=True).eval()
    assert json.loads((folder / "config.json").read_text())["architecture"] == arch
    assert theirs.num_features == ours.feature_dim
    given = timm.data.resolve_data_config({}, model=theirs)
    assert tuple(given["input_size"]) == (3, 32, 32)
    assert tuple(given["mean"]) == preprocess.mean
    images = preprocess(pixels(32, 2))
    with torch.no_grad():
        torch.testing.assert_close(ours(images), theirs(images), rtol=1e-5, atol=1e-5)


def test_export_as_safetensors(trained: Workspace) -> None:
    pytest.importorskip("safetensors")
    answer = trained.call("export", "digits", "--as", "safetensors", "--to", "encoders")
    assert (answer.status, answer.out.splitlines()[-1]) == (0, "1 encoder exported to encoders")
    (folder,) = Path("encoders").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == [
        "config.json", "model.safetensors", "projector.safetensors",
    ]  # fmt: skip
    answer = trained.call("export", "digits", "--as", "onnx", "--to", "encoders")
    assert (answer.status, answer.err) == (
        2,
        "bench: --as onnx: there is no such format. Allowed here: safetensors, "
        "parquet, hub, tensorboard, wandb.\n",
    )


def test_a_hub_reads_encoders_and_results_back(trained: Workspace) -> None:
    """With the hub's own reader of cards, and no network."""
    hub = pytest.importorskip("huggingface_hub")
    safetensors = pytest.importorskip("safetensors")
    answer = trained.call("export", "digits", "--as", "hub", "--to", "hub")
    assert answer.out.splitlines()[-1] == "4 files and 1 encoder exported to hub", answer.err
    (folder,) = (path for path in Path("hub/encoders").iterdir() if path.is_dir())
    card, frame = hub.ModelCard.load("hub/encoders/README.md"), bench.load("digits")
    (accuracy,) = (r for r in card.data.eval_results if r.metric_type == "knn_top1")
    measured = frame[frame.metric == "knn_top1"].value.iloc[0]
    assert (accuracy.metric_value, accuracy.dataset_type) == (measured, "digits")
    assert (card.data.license, f"| `{folder.name}` | infonce | digits |" in card.text) == (
        "mit", True,
    )  # fmt: skip
    with safetensors.safe_open(folder / "model.safetensors", "pt") as opened:
        named = opened.metadata()
    origin = json.loads((folder / "config.json").read_text())["bench"]["origin"]
    commit = {"commit": origin["code.commit"]} if origin["code.commit"] else {}  # in a checkout
    assert named == {
        "format": "pt", "training": folder.name, **commit,
        "cells": frame.cell.iloc[0],
    }  # fmt: skip
    assert isinstance(bench.load_encoder(str(folder)), LoadedEncoder)
    card = hub.DatasetCard.load("hub/results/README.md")
    files = {one["config_name"]: one["data_files"] for one in card.data.to_dict()["configs"]}
    assert files == {"cells": "cells.parquet", "histories": "histories.parquet"}
    assert len(pd.read_parquet(f"hub/results/{files['cells']}")) == len(frame)
    assert json.loads(Path("hub/results/croissant.json").read_text())["@type"] == "sc:Dataset"


def test_what_is_fed_is_what_is_evaluated_of_folders_and_streams(tmp_path: Path) -> None:
    """A folder's images are cropped as the data set is decoded; ImageNet's as its evaluation."""
    image = Image.fromarray(pixels(40, 1)[0].permute(1, 2, 0).numpy()).crop((0, 0, 40, 30))
    for part in ("train", "test"):
        for label in ("a", "b"):
            (tmp_path / "mine" / part / label).mkdir(parents=True)
            for i in range(8):
                image.rotate(i).save(tmp_path / "mine" / part / label / f"{i}.png")
    own: dict[str, Any] = {
        "dataset": "folder:mine",
        "train_images": 16,
        "batch_size": 4,
        "K": 4,
        "knn_k": 3,
    }
    cell = small_cell(**own, image_size=24)
    preprocess = preprocessing_of(cell, tmp_path)
    expected = next(iter(open_source(cell, tmp_path, "cpu").plain("test")))
    with Image.open(tmp_path / "mine" / "test" / "a" / "3.png") as opened:
        assert torch.equal(preprocess(opened), expected[3])
    streamed = preprocessing_of(small_cell(dataset="imagenet1k", image_size=224), tmp_path)
    assert (streamed.crop, streamed.size) == ((256, 224), 224)


def test_other_inputs_are_refused() -> None:
    preprocess = Preprocessing(8, (0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
    assert preprocess(torch.zeros(3, 8, 8, dtype=torch.uint8)).tolist() == [[[-1.0] * 8] * 8] * 3
    with pytest.raises(ValueError, match=r"^expected a PIL image or a uint8 tensor, found torch"):
        preprocess(torch.zeros(3, 8, 8))
    with pytest.raises(ValueError, match=r"found \(1, 8, 8\)$"):
        preprocess(torch.zeros(1, 8, 8, dtype=torch.uint8))
