"""What the manual says of the program holds: its messages, and its code for readers of Python."""

import ast
import doctest
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import bench
from bench import api
from bench.suites.reference import settings_reference
from tests.fakes.paths import ROOT

HOW_TO = ROOT / "docs" / "how-to"
MESSAGES = re.findall(r"^### `(.+)`$", (HOW_TO / "troubleshooting.md").read_text(), re.MULTILINE)
GAP = "..."


def text_of(node: ast.AST) -> str | None:
    """Return a text of the code, with `...` for what is filled in; None: no text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or GAP for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return f"{text_of(node.left) or GAP}{text_of(node.right) or GAP}"
    return None


@cache
def texts() -> list[str]:
    trees = (ast.parse(path.read_text()) for path in (ROOT / "bench").rglob("*.py"))
    found = (text_of(node) for tree in trees for node in ast.walk(tree))
    return [text for text in found if text and len(text) > len(GAP)]


def is_in_the_code(message: str) -> bool:
    """Whether one text of the code has all words of a message, in this order."""
    words = ".*".join(re.escape(part.strip(" `")) for part in message.split(GAP))
    return any(re.search(words, text, re.DOTALL) for text in texts())


@pytest.mark.parametrize("message", MESSAGES)
def test_every_message_that_is_explained_is_one_of_the_program(message: str) -> None:
    assert is_in_the_code(message)


def test_a_message_that_has_changed_is_noticed() -> None:
    assert len(MESSAGES) > 20
    assert is_in_the_code("... needs the package ...: pip install 'contrastive-bench[...]'")
    assert not is_in_the_code("... needs the package ...: conda install 'contrastive-bench[...]'")


def test_the_meaning_of_a_setting_is_one_line_of_a_table() -> None:
    assert [setting.name for setting in settings_reference() if "\n" in setting.what] == []


def python_of(page: str) -> str:
    (code,) = re.findall(r"```python\n(.*?)```", (HOW_TO / page).read_text(), re.DOTALL)
    return str(code)


def test_the_losses_alone_run_as_shown(capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    torch.manual_seed(0)
    exec(python_of("losses-alone.md"), {})
    assert re.fullmatch(r"\d\.\d{3} nats, mean q_B 0\.\d{3}\n", capsys.readouterr().out)


def test_an_encoder_trained_elsewhere_is_evaluated_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Untrained weights, few images: above chance, 10 %, since pixels alone tell digits apart."""
    import torch
    from torchvision.models import resnet18

    from bench.cells.linear_protocols import LINEAR_PROTOCOLS, LinearProtocol
    from bench.data.images import load_digits

    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    network = resnet18()
    network.fc = torch.nn.Identity()
    torch.save(network.state_dict(), "checkpoint.pt")
    digits, few = load_digits(), torch.arange(250)
    some = replace(digits, train=digits.train.of(few), test=digits.test.of(few[:100]))
    monkeypatch.setattr("bench.data.load.load_digits", lambda: some)
    quick = LinearProtocol(optimizer="lbfgs", epochs=10, normalise="standardise")
    monkeypatch.setitem(LINEAR_PROTOCOLS, "logistic", quick)
    exec(python_of("own-encoder.md"), {})
    knn, linear = map(float, re.findall(r": ([\d.]+) %", capsys.readouterr().out))
    assert 20 < knn < 100
    assert 20 < linear < 100


@pytest.mark.slow
@pytest.mark.parametrize(("module", "fewest"), [(bench, 3), (api, 30)])
def test_the_examples_of_docstrings_give_what_they_show(
    module: ModuleType, fewest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an empty folder: the reference results answer, and one cell of images is trained."""
    monkeypatch.chdir(tmp_path)
    found = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted >= fewest
