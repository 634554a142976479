"""A method with code of its own: the example of the manual, and one line for each mistake."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bench.errors import Interrupted
from bench.train import loop
from tests.fakes.paths import ROOT
from tests.fakes.suites import DIGITS, changed
from tests.fakes.workspace import Workspace

PAGE = (ROOT / "docs" / "how-to" / "your-method.md").read_text()
BLOCKS: dict[str, str] = dict(
    re.findall(r"```(?:python|yaml)\n# suites/(\S+)\n(.*?)```", PAGE, re.DOTALL)
)
CODE, YAML = BLOCKS["methods/tiny-dino.py"], BLOCKS["methods/tiny-dino.yaml"]
AT = "suites/methods/tiny-dino"
TRUSTED = ("--trust", "suites/methods")
HERE = ("--executor", "inline")
SUITE = changed(
    DIGITS,
    {
        "fixed": {k: v for k, v in DIGITS["fixed"].items() if k not in ("K", "bn_groups", "tau")}
        | {"method": "tiny-dino", "epochs": 1, "knn_k": 3, "prototypes": 8},
        "grid": {"teacher_tau": [0.04]},
        "tables": [{"title": "entropy", "metric": "teacher_entropy", "rows": ["teacher_tau"]}],
    },
)


def write_method(workspace: Workspace, yaml: str = YAML, code: str | None = CODE) -> Path:
    """Write a method beside the suites; return its folder."""
    folder = workspace.root / "suites" / "methods"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny-dino.yaml").write_text(yaml)
    if code is not None:
        (folder / "tiny-dino.py").write_text(code)
    return folder


def in_step(line: str) -> str:
    """Return the code with a line before the end of `step`."""
    return CODE.replace("        return torch.stack", f"        {line}\n        return torch.stack")


class Mistake(NamedTuple):
    """Files with a mistake, and how the line begins that says so."""

    says: str
    yaml: str = YAML
    code: str = CODE
    suite: dict[str, Any] = {}


SEEN = {
    "no version": Mistake(
        f"{AT}.yaml: version: this key is missing.", YAML.replace("version: 1\n", "")
    ),
    "an unknown key": Mistake(
        f"{AT}.yaml: learned: unknown key. ", f"{YAML}learned: {{scale: 1}}\n"
    ),
    "an unknown coordinate": Mistake(
        f"{AT}.yaml: tiny-dino.coordinates.tua: unknown key. Did you mean 'tau'?",
        YAML.replace("  tau: [", "  tua: ["),
    ),
    "a coordinate without a source": Mistake(
        f"{AT}.yaml: tiny-dino.coordinates.tau: found 0.1, expected [value, source]",
        re.sub(r"  tau: .*", "  tau: 0.1", YAML),
    ),
    "like no method": Mistake(
        f"{AT}.yaml: tiny-dino.like: no method 'simclear' is defined before this "
        "one. Did you mean 'simclr'?",
        YAML.replace("like: simclr", "like: simclear"),
    ),
    "a parameter that is given": Mistake(
        f"{AT}.yaml: parameters.epoch: bench passes its own epoch to the function, so "
        "the YAML file must not declare this name; name it only in the function",
        YAML.replace("follow:", "epoch:"),
    ),
    "a parameter that is a setting": Mistake(
        f"{AT}.yaml: parameters.momentum: bench already uses this name; choose a different name",
        YAML.replace("follow:", "momentum:"),
        CODE.replace("follow", "momentum"),
    ),
    "a parameter that is not taken": Mistake(
        f"{AT}.yaml: parameters.slope: Method in {AT}.py does not take an argument of this name",
        YAML.replace("parameters:\n", "parameters:\n  slope: {type: int, default: 1}\n"),
    ),
    "a quantity that is a metric": Mistake(
        f"{AT}.yaml: quantities: train_loss: bench already uses this name",
        YAML.replace("[teacher_entropy]", "[train_loss]"),
    ),
    "a quantity that is a setting": Mistake(
        f"{AT}.yaml: quantities: batch_size: bench already uses this name",
        YAML.replace("[teacher_entropy]", "[batch_size]"),
    ),
    "a quantity that is a parameter": Mistake(
        f"{AT}.yaml: quantities: teacher_tau: the name is also a parameter; rename one of the two",
        YAML.replace("[teacher_entropy]", "[teacher_tau]"),
    ),
    "a quantity that is no name": Mistake(
        f"{AT}.yaml: quantities.0: found 'the entropy', expected ",
        YAML.replace("[teacher_entropy]", "[the entropy]"),
    ),
    "an error of syntax": Mistake(
        f"{AT}.py:8: ", code=CODE.replace("class Method(", "class Method((")
    ),
    "no class": Mistake(
        f"{AT}.py: the file must define a class 'Method'", code=CODE.replace("Method", "Dino")
    ),
    "no step": Mistake(
        f"{AT}.py: the class Method must define the function 'step'; it defines "
        "__init__, stride, after_step",
        code=CODE.replace("def step", "def stride"),
    ),
    "an unknown argument": Mistake(
        f"{AT}.py:15: unknown argument 'view'. Did you mean 'views'? Allowed here: prototypes, ",
        code=CODE.replace("views, epoch", "view, epoch"),
    ),
    "an argument of another function": Mistake(
        f"{AT}.py:9: unknown argument 'views'. ",
        code=CODE.replace(
            "online, feature_dim, prototypes", "online, feature_dim, prototypes, views"
        ),
    ),
    "arguments without names": Mistake(
        f"{AT}.py:15: step cannot take 'more' by name, but all arguments are passed by name",
        code=CODE.replace("tau, teacher_tau)", "tau, teacher_tau, **more)"),
    ),
    "no self": Mistake(
        f"{AT}.py:15: the first argument of step must be self",
        code=CODE.replace("def step(self, ", "def step("),
    ),
    "a value out of range": Mistake(
        "suites/digits.yaml: grid.teacher_tau: found -1, expected a number above 0",
        suite={"grid.teacher_tau": [-1]},
    ),
    "a parameter of another method": Mistake(
        "suites/digits.yaml: fixed.epsilon: loss 'tiny-dino' has no parameter of this name",
        suite={"fixed.epsilon": 0.1},
    ),
    "another target": Mistake(
        "suites/digits.yaml: target 'own' and a loss that belongs to a method can be used only",
        suite={"fixed.target": "shared"},
    ),
    "a loss that is no method": Mistake(
        "suites/digits.yaml: target 'own' needs a loss that belongs to a method, "
        "but loss 'cosine' belongs to none",
        suite={
            "fixed.loss": "cosine",
            "fixed.prototypes": None,
            "grid": {"few_shot_draws": [9]},
            "tables": [],
        },
    ),
    "CutMix": Mistake(
        "suites/digits.yaml: target 'own' computes the whole step in its own code, "
        "so negatives must be 'none' and cutmix false",
        suite={"fixed.cutmix": True},
    ),
    "no labels": Mistake(
        "suites/digits.yaml: loss 'tiny-dino' takes the argument labels_N, which "
        "needs pretrain_on 'train'",
        code=CODE.replace("views, epoch", "views, labels_N, epoch"),
        suite={"fixed.pretrain_on": "train+unlabeled"},
    ),
    "a metric that nothing records": Mistake(
        "suites/digits.yaml: tables.0.metric: found 'entropy'. ",
        suite={"tables": [{"title": "entropy", "metric": "entropy", "rows": ["teacher_tau"]}]},
    ),
    "a coordinate that the code gives": Mistake(
        f"{AT}.yaml: coordinates.loss: the code of the method determines this "
        "setting; leave it out",
        f"{YAML}  loss: [infonce, me]\n",
    ),
    "a quantity without its list": Mistake(
        f"{AT}.yaml: quantities: found 'teacher_entropy', expected a list.",
        YAML.replace("[teacher_entropy]", "teacher_entropy"),
    ),
    "like itself": Mistake(
        f"{AT}.yaml: tiny-dino.like: no method 'tiny-dino' is defined before this one. ",
        YAML.replace("like: simclr", "like: tiny-dino"),
    ),
    "a function in place of the class": Mistake(
        f"{AT}.py: the file must define a class 'Method'", code="def Method():\n    pass\n"
    ),
    "no temperature": Mistake(
        "suites/digits.yaml: loss 'tiny-dino' takes the argument tau, which needs the setting tau",
        YAML.replace("tau: [0.1", "tau: [null"),
    ),
    "what another function may take": Mistake(
        f"{AT}.py:15: unknown argument 'images'. ",
        code=CODE.replace("views, epoch", "views, images, epoch"),
    ),
}
"""Mistakes that are seen without a line of the code being run."""
TRIED = {
    "an error": Mistake(f"{AT}.py:20: AttributeError: ", code=CODE.replace("no_grad", "nograd")),
    "no module": Mistake(
        f"{AT}.py: the class Method must be a torch.nn.Module",
        code="class Method:\n    def __init__(self, prototypes, teacher_tau, follow):\n"
        "        pass\n    def step(self, online):\n        pass\n",
    ),
    "the network itself kept": Mistake(
        f"{AT}.py: Method stores the network that is trained; store a copy by copy.deep",
        code=CODE.replace("copy.deepcopy(online).requires_grad_(False)", "online"),
    ),
    "a loss for each image": Mistake(
        f"{AT}.py: step returns shape (2,), expected the loss, one number as a tensor",
        code=CODE.replace("torch.stack(losses).mean()", "torch.stack(losses)"),
    ),
    "a quantity that is not listed": Mistake(
        f"{AT}.py: step returns {{'teacher_entropy': tensor(",
        YAML.replace("[teacher_entropy]", "[]"),
    ),
    "a loss without a gradient": Mistake(
        f"{AT}.py: the loss has no gradient with respect to the network",
        code=CODE.replace("torch.stack(losses).mean()", "torch.stack(losses).mean().detach()"),
    ),
    "a loss that is not finite": Mistake(
        f"{AT}.py: the loss is not finite on random images",
        code=CODE.replace("torch.stack(losses).mean()", "torch.stack(losses).mean() / 0"),
    ),
    "a quantity that is not finite": Mistake(
        f"{AT}.py: teacher_entropy is not finite on random images",
        code=CODE.replace('{"teacher_entropy": entropy}', '{"teacher_entropy": entropy / 0}'),
    ),
    "random numbers that do not repeat": Mistake(
        f"{AT}.py: two trainings with one seed differ; draw random numbers only "
        "with torch, which is seeded",
        code="import random\n" + in_step("losses = [random.random() * one for one in losses]"),
    ),
    "a state that no checkpoint has": Mistake(
        f"{AT}.py: a resumed training would differ from an uninterrupted one; keep ",
        code=CODE.replace(
            'self.register_buffer("centre", torch.zeros(prototypes))',
            "self.centre = torch.zeros(prototypes)",
        ),
    ),
    "another view first": Mistake(
        f"{AT}.py: the first call in step must be online(views[0])",
        code=CODE.replace("        students", "        online(views[1][:2])\n        students"),
    ),
    "a tuple of three": Mistake(
        f"{AT}.py: step returns (tensor(",
        code=CODE.replace('{"teacher_entropy": entropy}', "{}, 1"),
    ),
    "a tuple of one": Mistake(
        f"{AT}.py: step returns (tensor(",
        code=CODE.replace(' {"teacher_entropy": entropy}', ""),
    ),
    "a quantity that is no number": Mistake(
        f"{AT}.py: step returns shape (1,), expected one number as 'teacher_entropy'",
        code=CODE.replace("entropy}", "entropy[None]}"),
    ),
    "a listed quantity that is not there": Mistake(
        f"{AT}.py: step returns {{}}, expected what ",
        code=CODE.replace('"teacher_entropy": entropy', ""),
    ),
    "no beginning of the module": Mistake(
        f"{AT}.py:10: AttributeError: cannot assign module before Module.__init__() call",
        code=CODE.replace("        super().__init__()\n", ""),
    ),
    "a buffer that is made in a step": Mistake(
        f"{AT}.py: RuntimeError: Error(s) in loading state_dict for Method: Unexpected key(s) in ",
        code=in_step("self.register_buffer('late', torch.zeros(2))"),
    ),
    "a count that no checkpoint has": Mistake(
        f"{AT}.py: a resumed training would differ from an uninterrupted one; keep ",
        code=in_step("self.n = getattr(self, 'n', 0) + 1; losses = [self.n * x for x in losses]"),
    ),
    "an end of the program": Mistake(f"{AT}.py:1: SystemExit: ", code=f"raise SystemExit\n{CODE}"),
}
"""Mistakes that a first try of the code shows before anything is computed."""


def complaint(workspace: Workspace, mistake: Mistake, *words: str) -> str:
    """Return what the command says of files with a mistake, which is one line."""
    write_method(workspace, mistake.yaml, mistake.code)
    workspace.suite(changed(SUITE, mistake.suite))
    answer = workspace.call(*words)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1), answer
    assert not (workspace.root / "results" / "pretrain").exists()
    return answer.err.removeprefix("bench: ").removeprefix(f"{workspace.root}/")


@pytest.mark.parametrize("name", SEEN)
def test_a_mistake_is_seen_in_the_files(workspace: Workspace, name: str) -> None:
    assert complaint(workspace, SEEN[name], "plan", "digits").startswith(SEEN[name].says)


@pytest.mark.parametrize("name", TRIED)
def test_a_mistake_is_seen_before_anything_is_computed(workspace: Workspace, name: str) -> None:
    found = complaint(workspace, TRIED[name], "run", "digits", *HERE, *TRUSTED)
    assert found.startswith(TRIED[name].says)


def test_a_method_of_the_name_of_another_is_refused(workspace: Workspace) -> None:
    folder = write_method(workspace)
    workspace.suite(SUITE)
    for name, says in (
        ("swav", "bench already has a loss 'swav'"),
        ("simclr", "a method of this name "),
    ):
        for suffix in (".py", ".yaml"):
            (folder / f"tiny-dino{suffix}").rename(folder / f"{name}{suffix}")
        answer = workspace.call("plan", "digits")
        left_out = "this file is left out: " if name == "swav" else ""
        assert answer.err.startswith(f"bench: {left_out}suites/methods/{name}.yaml: {says}")
        write_method(workspace)
        for suffix in (".py", ".yaml"):
            (folder / f"{name}{suffix}").unlink()


def test_half_of_a_method_is_one_line(workspace: Workspace) -> None:
    folder = write_method(workspace)
    workspace.suite(SUITE)
    (folder / "tiny-dino.py").rename(workspace.root / "aside.py")
    assert workspace.call("plan", "digits").err == (
        f"bench: {AT}.py: this file does not exist, but must hold the class of {AT}.yaml\n"
    )
    write_method(workspace)
    (folder / "tiny-dino.yaml").rename(folder / "tiny-dino.yml")
    line = (
        f"bench: {AT}.yml: the name of this file must end in .yaml: rename the "
        "file tiny-dino.yaml\n"
    )
    assert workspace.call("plan", "digits").err == line
    (folder / "tiny-dino.yml").unlink()
    line = f"bench: {AT}.py: its declaration tiny-dino.yaml is missing\n"
    assert workspace.call("plan", "digits").err == line


def test_a_suite_alone_runs_no_code(workspace: Workspace) -> None:
    write_method(workspace, code=f"from pathlib import Path\nPath('run').touch()\n{CODE}")
    workspace.suite(SUITE)
    answer = workspace.call("run", "digits", *HERE)
    assert (answer.status, answer.err) == (
        2,
        "bench: method 'tiny-dino' is your own code: bench runs such code only "
        "from folders that you trust; add --trust with the folder of tiny-dino.py\n",
    )
    for verb in ("plan", "status", "methods", "schema"):
        workspace.call(verb, *(["digits"] if verb in ("plan", "status") else []))
    assert not (workspace.root / "run").exists()
    begun = workspace.call("resume", "digits").err
    assert "`bench run digits --scale tiny --trust suites/methods` starts the cells" in begun


@pytest.mark.slow
def test_the_method_of_the_manual_is_interrupted_and_goes_on_to_the_bit(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page as it stands, but one cell of it, with a narrow network."""
    for name, block in BLOCKS.items():
        path = workspace.root / "suites" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block)
    commands = [line.split() for line in re.findall(r"^bench (.*my-method.*)$", PAGE, re.MULTILINE)]
    assert [words[0] for words in commands] == ["plan", "run", "report"]
    assert workspace.call(*commands[0]).status == 0
    sizes = ("--set", "width=4", "--set", "epochs=2")
    small = (*sizes, "--where", "teacher_tau=0.04", *HERE)
    whole = workspace.call("--results", "whole", *commands[1], *small, "--json")
    assert (whole.status, whole.json["done"]) == (0, 1), whole.err

    step = loop.Training.step
    stopped: list[int] = []

    def interrupted(training: loop.Training, number: int) -> None:
        step(training, number)
        if number == training.steps_an_epoch and not stopped:
            stopped.append(number)
            raise Interrupted

    monkeypatch.setenv("BENCH_CHECKPOINT_S", "0")
    monkeypatch.setattr(loop.Training, "step", interrupted)
    workspace.call(*commands[1], *small)
    assert stopped
    resumed = workspace.call(*commands[1], *small, "--json")
    assert (resumed.status, resumed.json["done"]) == (0, 1), resumed
    resumed_at = [
        path.read_text() for path in (workspace.root / "results").rglob("provenance.json")
    ]
    assert any(f'"resumed_at": {stopped[0]}' in text for text in resumed_at)
    compared = workspace.call("compare", "whole", "results", "--json")
    assert (compared.status, compared.json["same"]) == (0, 1), compared
    shown = workspace.call("show", "my-method", *sizes, "--json")
    assert shown.status == 0, shown.err


@pytest.mark.slow
def test_the_timm_network_of_the_manual_is_trained(workspace: Workspace) -> None:
    """The page as it stands, but one cell of it."""
    pytest.importorskip("timm")
    workspace.suite(BLOCKS["my-vit.yaml"], "my-vit")
    (command,) = re.findall(r"^bench (run my-vit.*)$", PAGE, re.MULTILINE)
    small = ("--where", "loss=dcl", *HERE, "--json")
    ran = workspace.call(*command.split(), *small)
    assert (ran.status, ran.json["done"]) == (0, 1), ran.err
    (kept,) = (workspace.root / "results" / "pretrain").glob("*/cell.json")
    assert '"arch": "timm:vit_tiny_patch16_224"' in kept.read_text()
