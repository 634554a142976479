"""Each mistake in the files of an objective of one's own is one line, and exit status 2."""

from typing import Any, NamedTuple

import pytest

from tests.fakes.own_losses import CODE, SUITE, TRUSTED, YAML, write_loss
from tests.fakes.suites import changed
from tests.fakes.workspace import Workspace

AT = "suites/losses/push-apart"


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
        f"{AT}.yaml: parameter: unknown key. Did you mean 'parameters'?",
        YAML.replace("parameters:", "parameter:"),
    ),
    "an unknown type": Mistake(
        f"{AT}.yaml: parameters.margin.type: found 'real', expected 'float', 'int', 'bool' or ",
        YAML.replace("type: float", "type: real"),
    ),
    "a default out of range": Mistake(
        f"{AT}.yaml: parameters.margin: found 3, expected a number above 0 and at most 2",
        YAML.replace("0.5}", "3}"),
    ),
    "bounds of a text": Mistake(
        f"{AT}.yaml: parameters.margin: a parameter of type 'text' cannot have "
        "bounds; list its allowed values under the key values",
        YAML.replace("type: float", "type: text"),
    ),
    "a parameter that is a setting": Mistake(
        f"{AT}.yaml: parameters.sigma: bench already uses this name; choose a different name",
        YAML.replace("margin", "sigma"),
        CODE.replace("margin", "sigma"),
    ),
    "a parameter that is given": Mistake(
        f"{AT}.yaml: parameters.tau: bench passes its own tau to the function, so the "
        "YAML file must not declare this name; name it only in the function",
        YAML.replace("margin", "tau"),
        CODE.replace("margin", "tau"),
    ),
    "a parameter that is not taken": Mistake(
        f"{AT}.yaml: parameters.slope: push_apart in {AT}.py does not take an "
        "argument of this name",
        f"{YAML}  slope: {{type: int, default: 1}}\n",
    ),
    "YAML that is none": Mistake(f"{AT}.yaml: line 2, column 5: ", f"{YAML[:3]}\n  - : : {{"),
    "an error of syntax": Mistake(
        f"{AT}.py:2: the code is not valid Python: '(' was never closed",
        code=CODE.replace(" key_ND.T", " (key_ND.T"),
    ),
    "another function": Mistake(
        f"{AT}.py: the file must define the function 'push_apart'; it defines push",
        code=CODE.replace("_apart", ""),
    ),
    "an unknown argument": Mistake(
        f"{AT}.py:1: unknown argument 'keys_ND'. Did you mean 'key_ND'? Allowed here: margin, ",
        code=CODE.replace("key_ND", "keys_ND"),
    ),
    "arguments without names": Mistake(
        f"{AT}.py:1: push_apart cannot take 'more' by name, but all arguments are passed by name",
        code=CODE.replace("margin)", "margin, **more)"),
    ),
    "a value out of range": Mistake(
        "suites/digits.yaml: grid.margin: found 3, expected a number above 0 and at most 2",
        suite={"grid.margin": [1, 3]},
    ),
    "a value of another type": Mistake(
        "suites/digits.yaml: grid.margin: found '1', expected a number above 0 and at most 2",
        suite={"grid.margin": ["1"]},
    ),
    "a parameter of another loss": Mistake(
        "suites/digits.yaml: grid.margin: loss 'infonce' has no parameter of this name",
        suite={"fixed.loss": "infonce"},
    ),
    "an unknown parameter": Mistake(
        "suites/digits.yaml: grid.margn: unknown key. Did you mean 'margin'?",
        suite={"grid": {"margn": [1]}},
    ),
    "an unknown loss": Mistake(
        "suites/digits.yaml: fixed.loss: loss 'push-apar' is unknown. Did you mean 'push-apart'?",
        suite={"fixed.loss": "push-apar"},
    ),
    "a parameter without a value": Mistake(
        "suites/digits.yaml: margin is missing: loss 'push-apart' needs it (a number above 0 ",
        YAML.replace(", default: 0.5", ""),
        suite={"grid": {"few_shot_draws": [9, 10]}, "tables": []},
    ),
    "a learned parameter that is no number": Mistake(
        f"{AT}.yaml: learned.slope: found 'steep', expected a number or a mapping.\n",
        f"{YAML}learned: {{slope: steep}}\n",
    ),
    "a learned parameter that is not taken": Mistake(
        f"{AT}.yaml: learned.slope: push_apart in {AT}.py does not take an argument of this name",
        f"{YAML}learned: {{slope: 1}}\n",
    ),
    "a learned parameter of no size": Mistake(
        f"{AT}.yaml: learned.scale.shape.0: found 0, expected a value greater than 0.",
        f"{YAML}learned: {{scale: {{shape: [0]}}}}\n",
    ),
    "Python that is nested too deeply": Mistake(
        f"{AT}.py: the code is nested too deeply", code=f"x = {'-' * 100_000}1\n{CODE}"
    ),
    "a learned parameter of an unknown size": Mistake(
        f"{AT}.yaml: learned.slope_D.shape: unknown size 'dim'. Allowed here: feature_dim.",
        f"{YAML}learned: {{slope_D: {{shape: [dim]}}}}\n",
    ),
    "a parameter that is learned too": Mistake(
        f"{AT}.yaml: learned.margin: a parameter of the loss already has this name; rename one of "
        "the two",
        f"{YAML}learned: {{margin: 1}}\n",
    ),
    "a state that nothing makes": Mistake(
        f"{AT}.py:1: the argument `state` needs a function 'begin' that returns the first state",
        code=CODE.replace("margin)", "margin, state)"),
    ),
    "an update of no state": Mistake(
        f"{AT}.py: update must take the argument `state`, because this function can "
        "change only the state",
        code=f"{CODE}\ndef update(key_ND):\n    pass\n",
    ),
    "an unknown argument of begin": Mistake(
        f"{AT}.py:5: unknown argument 'dim'. Allowed here: margin, feature_dim, tau, generator.",
        code=f"{CODE}def begin(dim):\n    return {{}}\n",
    ),
    "no queue": Mistake(
        "suites/digits.yaml: loss 'push-apart' takes the argument queued_KD, which "
        "needs negatives 'queue'",
        code=CODE.replace("margin)", "margin, queued_KD)"),
    ),
    "no matrix": Mistake(
        "suites/digits.yaml: loss 'push-apart' takes the argument correlation_DD, "
        "which needs negatives ",
        code=CODE.replace("margin)", "margin, correlation_DD)"),
        suite={"fixed.symmetric": False},
    ),
    "no labels": Mistake(
        "suites/digits.yaml: loss 'push-apart' takes the argument labels_N, which "
        "needs pretrain_on 'train'",
        code=CODE.replace("margin)", "margin, labels_N)"),
        suite={"fixed.pretrain_on": "train+unlabeled"},
    ),
    "no temperature": Mistake(
        "suites/digits.yaml: loss 'push-apart' takes the argument tau, which needs the setting tau",
        code=CODE.replace("margin)", "margin, tau)"),
        suite={"fixed.tau": None},
    ),
    "an empty file": Mistake(f"{AT}.yaml: found None, expected a mapping.", ""),
    "a key given twice": Mistake(
        f"{AT}.yaml: line 5, column 1: the key 'version' is given twice", f"{YAML}version: 2\n"
    ),
    "a version in words": Mistake(
        f"{AT}.yaml: version: found 'one', expected a whole number.",
        YAML.replace("version: 1", "version: one"),
    ),
    "a parameter that is its value": Mistake(
        f"{AT}.yaml: parameters.margin: found 0.5, expected a mapping.",
        YAML.split("  margin")[0] + "  margin: 0.5\n",
    ),
    "a default with a point": Mistake(
        f"{AT}.yaml: parameters.margin: found 2.0, expected a whole number",
        YAML.split("  margin")[0] + "  margin: {type: int, default: 2.0}\n",
    ),
    "a name that no argument can have": Mistake(
        f"{AT}.yaml: parameters.lambda: 'lambda' cannot be the name of a function's argument",
        YAML.replace("margin", "lambda"),
    ),
    "a first value that is not finite": Mistake(
        f"{AT}.yaml: learned.slope.start: found nan, expected a finite number.",
        f"{YAML}learned: {{slope: .nan}}\n",
    ),
    "self": Mistake(
        f"{AT}.py:1: unknown argument 'self'. ", code=CODE.replace("(query_ND", "(self, query_ND")
    ),
    "a lambda": Mistake(
        f"{AT}.py: the file must define the function 'push_apart'",
        code="push_apart = lambda x: x\n",
    ),
    "async": Mistake(
        f"{AT}.py:1: push_apart must be defined by 'def', not by 'async def'", code=f"async {CODE}"
    ),
    "a tab between blanks": Mistake(
        f"{AT}.py:3: the code is not valid Python: inconsistent use of tabs",
        code=CODE.replace("    others", "\tothers"),
    ),
    "true in place of a number": Mistake(
        "suites/digits.yaml: grid.margin: found True, expected a number above 0",
        suite={"grid.margin": [True]},
    ),
}
"""Mistakes that are seen without a line of the code being run."""
STATE = f"import torch\n{CODE}\ndef begin():\n    return {{'centre': torch.zeros(2)}}\n"
UPDATE = "\ndef update(state):\n    "
TRIED = {
    "an error": Mistake(
        f"{AT}.py:4: TypeError: ", code=CODE.replace(".clamp(min=0)", ".clamp(least=0)")
    ),
    "a missing package": Mistake(
        f"{AT}.py:1: ModuleNotFoundError: No module named 'no_such'", code=f"import no_such\n{CODE}"
    ),
    "a mean in place of a value a query": Mistake(
        f"{AT}.py: push_apart returns shape (), expected a number for each query, shape (16,)",
        code=CODE.replace(".clamp(min=0)", ".mean()"),
    ),
    "no value": Mistake(
        f"{AT}.py: push_apart returns None, expected a number for each query",
        code=CODE.replace("return ", "lost = "),
    ),
    "no gradient": Mistake(
        f"{AT}.py: push_apart has no gradient with respect to its arguments",
        code=CODE.replace(".clamp(min=0)", ".detach()"),
    ),
    "a state that is no tensor": Mistake(
        f"{AT}.py: TypeError: ", code=f"{CODE}\ndef begin():\n    return {{'centre': 1}}\n"
    ),
    "an update of another shape": Mistake(
        f"{AT}.py: ValueError: update leaves shape (3,) as 'centre', expected shape (2,)",
        code=f"{STATE}{UPDATE}state['centre'] = torch.zeros(3)\n",
    ),
    "an update by a number": Mistake(
        f"{AT}.py: ValueError: update leaves 3 as 'centre', expected shape (2,)",
        code=f"{STATE}{UPDATE}state['centre'] = 3\n",
    ),
    "an update that adds": Mistake(
        f"{AT}.py: ValueError: update leaves centre, count in state, but begin made centre",
        code=f"{STATE}{UPDATE}state['count'] = torch.zeros(1)\n",
    ),
    "an update that removes": Mistake(
        f"{AT}.py: ValueError: update leaves nothing in state, but begin made centre",
        code=f"{STATE}{UPDATE}del state['centre']\n",
    ),
    "a beginning that returns nothing": Mistake(
        f"{AT}.py: TypeError: begin returns None, expected a mapping of tensors",
        code=f"{CODE}\ndef begin():\n    pass\n",
    ),
    "whole numbers": Mistake(
        f"{AT}.py: push_apart returns shape (16,) of torch.int64, expected a number for each",
        code=CODE.replace(".clamp(min=0)", ".long()"),
    ),
    "a matrix": Mistake(
        f"{AT}.py: push_apart returns shape (16, 16), expected a number for each query",
        code=CODE.replace("return (", "return (cosine_NN + "),
    ),
    "an end of the program": Mistake(
        f"{AT}.py:2: SystemExit: 3", code=f"import sys\nsys.exit(3)\n{CODE}"
    ),
    "a name that is taken back": Mistake(
        f"{AT}.py: KeyError: 'push_apart'", code=f"{CODE}\ndel push_apart\n"
    ),
    "a change of what is given": Mistake(
        f"{AT}.py: the code changes neg_NK in place; change a copy instead: neg_NK.clone()",
        code=CODE.replace("margin):", "margin, neg_NK):\n    neg_NK.data.zero_()"),
    ),
    "an error that speaks of memory": Mistake(
        f"{AT}.py:4: RuntimeError: unsupported operation: more than one element",
        code="import torch\n"
        + CODE.replace("    others", "    torch.zeros(1).expand(3).add_(1)\n    others", 1),
    ),
    "not finite": Mistake(
        f"{AT}.py: push_apart is not finite on random unit vectors",
        code=CODE.replace(".clamp(min=0)", ".log().log()"),
    ),
    "a gradient that is not finite": Mistake(
        f"{AT}.py: the gradient of push_apart is not finite on random unit vectors",
        code=CODE.replace(".clamp(min=0)", ".mul(0).sqrt()"),
    ),
    "no values": Mistake(
        f"{AT}.py: RuntimeError: ", code=CODE.replace(".clamp(min=0)", ".to('meta')")
    ),
    "random numbers": Mistake(
        f"{AT}.py: two calls with the same arguments give different values; draw "
        "random numbers only with `generator`",
        code="import torch\n" + CODE.replace(".clamp(min=0)", " * torch.rand(1)"),
    ),
}
"""Mistakes that a first try of the code shows before anything is computed."""


def complaint(workspace: Workspace, mistake: Mistake, *words: str) -> str:
    """Return what the command says of files with a mistake, which is one line."""
    write_loss(workspace, mistake.yaml, mistake.code)
    workspace.suite(changed(SUITE, mistake.suite))
    answer = workspace.call(*words)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1), answer
    assert not (workspace.root / "results" / "pretrain").exists()
    return answer.err.removeprefix("bench: ")


@pytest.mark.parametrize("name", SEEN)
def test_a_mistake_is_seen_in_the_files(workspace: Workspace, name: str) -> None:
    assert complaint(workspace, SEEN[name], "plan", "digits").startswith(SEEN[name].says)


@pytest.mark.parametrize("name", TRIED)
def test_a_mistake_is_seen_before_anything_is_computed(workspace: Workspace, name: str) -> None:
    words = ("run", "digits", "--executor", "inline", *TRUSTED)
    assert complaint(workspace, TRIED[name], *words).startswith(
        f"{workspace.root}/{TRIED[name].says}"
    )
    with pytest.MonkeyPatch.context() as patch:  # and its status does not need the code
        patch.setenv("BENCH_TRUST", "")
        assert workspace.call("status", "digits").status == 0


def test_files_that_are_missing_or_named_like_a_loss_of_bench(workspace: Workspace) -> None:
    folder = write_loss(workspace)
    workspace.suite(SUITE)
    (folder / "push-apart.py").unlink()
    assert workspace.call("plan", "digits").err.startswith(
        f"bench: {AT}.py: No such file or directory; this file must hold the "
        f"function that {AT}.yaml declares"
    )
    write_loss(workspace)
    (folder / "push-apart.yaml").rename(folder / "push-apart.yml")
    assert workspace.call("plan", "digits").err == (
        f"bench: {AT}.yml: the name of this file must end in .yaml: rename the "
        "file push-apart.yaml\n"
    )
    (folder / "push-apart.yml").unlink()
    assert workspace.call("plan", "digits").err == (
        f"bench: {AT}.py: its declaration push-apart.yaml is missing\n"
    )
    write_loss(workspace)
    assert workspace.call("run", "digits", "--trust", f"{AT}.py").err == (
        f"bench: --trust {AT}.py: this is a file, but only folders can be trusted: "
        "--trust suites/losses\n"
    )
    write_loss(workspace, YAML, CODE.replace("push_apart", "dcl"), "dcl")
    fault = "suites/losses/dcl.yaml: bench already has a loss 'dcl'; choose a different name"
    answer = workspace.call("plan", "digits")  # which does not use it
    assert (answer.status, answer.err.splitlines()[0]) == (
        0,
        f"bench: this file is left out: {fault}",
    )
    assert workspace.call("suites").err == f"bench: this file is left out: {fault}\n"
    workspace.suite(changed(SUITE, {"fixed.loss": "dcl", "grid": {}, "tables": []}))
    assert workspace.call("plan", "digits").err == f"bench: {fault}\n"
