"""Short descriptions of how cells are trained, for `bench plan`."""

from collections import Counter
from collections.abc import Sequence

from bench.cells.baseline import without_baselines
from bench.cells.cell import Cell, per_point
from bench.record import Json
from bench.suites.agreement import stated_text
from bench.suites.facts import view_facts, views_of
from bench.text import counted, value_text

RECIPE = {
    "method": "{}", "optimizer": "{}", "lr": "learning rate {}", "lr_schedule": "{}",
    "lr_drop_epochs": "drops at epochs {}", "warmup_epochs": "warm-up epochs {}",
    "weight_decay": "weight decay {}", "epochs": "epochs {}", "steps": "steps {}",
    "batch_size": "batch size {}", "tau": "tau {}", "image_size": "{} pixels", "views": "views {}",
}  # fmt: skip
"""Settings of a recipe with their words; the learning rate is the one after scaling."""
TRAINED_BY = "optimizer"  # cells without it train nothing
SIZE_FREE = ("adam", "adamw", "lars", "muon")
"""Optimisers whose steps do not depend on the size of a gradient."""


def recipes_of(cells: Sequence[Cell]) -> list[Json]:
    """Return each distinct recipe of training cells, with the number of cells."""
    trained = (cell for cell in without_baselines(cells) if vars(cell).get(TRAINED_BY))
    found = per_point(trained, lambda cell: tuple((n, vars(cell).get(n)) for n in RECIPE))
    return [{"settings": dict(recipe), "cells": n} for recipe, n in Counter(found).items()]


def recipe_text(recipe: Json) -> str:
    """Return a recipe as text, without unused settings."""
    used = {name: v for name, v in recipe["settings"].items() if v not in (None, 0)}
    words = [RECIPE[name].format(value_text(value)) for name, value in used.items()]
    if used[TRAINED_BY] in SIZE_FREE:
        words.insert(words.index(used[TRAINED_BY]) + 1, "which normalises gradients")
    return f"{', '.join(words)} ({counted(recipe['cells'], 'cell')})"


def view_texts(cells: Sequence[Cell]) -> list[str]:
    """Return the distinct augmentations of cells, without operations that are never applied."""
    lines = {}
    for shown in dict.fromkeys(map(views_of, without_baselines(cells))):
        known = view_facts(*shown) if shown else {}
        parts = {k.removeprefix("views."): v for k, v in known.items()}
        texts = [f"{name} {stated_text(value)}" for name, value in parts.items() if value]
        if shown and texts:
            lines[f"views {shown[0]}: {'; '.join(texts)}"] = True
    return list(lines)
