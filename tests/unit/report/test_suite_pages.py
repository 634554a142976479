"""A suite's page: verdicts and main figure first, learning curves; links in the head of each."""

import re
from email.message import Message
from pathlib import Path

import numpy as np
import pytest

from bench.figures.panels import draw_figure
from bench.papers.reader import NO_PAPER
from bench.report import page
from bench.report.learning_curves import learning_curves, trainings
from bench.results.reader import Done, Finished
from bench.suites.expand import expand
from bench.suites.figure import Figure
from bench.suites.load import load_suite
from tests.fakes.suites import DIGITS, changed, to_yaml


def test_it_begins_with_verdicts_and_the_main_figure(image_site: Path) -> None:
    text = (image_site / "dcl-table-1" / "cifar" / "index.md").read_text()
    verdicts, figure, details = (
        text.index(part) for part in ("## Verdicts\n", "\n![", '<a id="table-1-cifar10"></a>')
    )
    assert verdicts < figure < details < text.index("\n## Claims\n")
    assert text.index("\n## ") == verdicts - 1
    assert re.search(
        r"^- \*\*holds\*\*: \[.*\]\(#dcl-table-1-cifar-[a-z0-9-]+\)\. kNN accuracy, DCL", text, re.M
    )
    pictures = re.findall(r"\]\(([^)]+\.svg)\)", text)
    assert len(pictures) == len(set(pictures)) > 1
    assert "[*Decoupled Contrastive Learning*](https://arxiv.org/abs/2110.06848)" in text


def trained(tmp_path: Path) -> Done:
    """Two trainings of two seeds, each evaluated twice, with three epochs of history."""
    file = tmp_path / "digits.yaml"
    data = changed(DIGITS, {"seeds": [0, 1], "grid": {"knn_k": [3, 7], "tau": [0.1, 0.2]}})
    file.write_text(to_yaml(data))
    suite = load_suite(file)

    def history() -> list[dict[str, float]]:
        return [{"step": 8.0 * e, "epoch": e, "train_loss": 3.0 / e} for e in (1, 2, 3)]

    return [(cell, Finished({}, {}, history)) for cell in expand(suite, "tiny", file)]


def test_every_training_has_one_learning_curve(tmp_path: Path) -> None:
    done = trainings(trained(tmp_path))
    assert len(done) == 4
    figure = learning_curves([], done)
    assert figure is not None
    assert (figure.x, figure.y, figure.y_label, figure.by) == (
        "epoch", "train_loss", "training loss (nats)", ["tau"],
    )  # fmt: skip
    suite = load_suite(tmp_path / "digits.yaml")
    canvas = draw_figure(figure, suite, [cell for cell, _ in done], done, NO_PAPER)
    assert canvas is not None
    drawn = [tuple(np.asarray(line.get_ydata()).tolist()) for line in canvas.axes[0].get_lines()]
    assert (3.0, 1.5, 1.0) in drawn
    assert {text.get_text() for text in canvas.legends[0].get_texts()} == {"tau = 0.1", "tau = 0.2"}


def test_what_a_figure_of_the_suite_shows_is_not_shown_again(tmp_path: Path) -> None:
    done = trainings(trained(tmp_path))
    own = Figure(
        name="own", title="Own", draw="history", x="epoch", x_label="", y="train_loss", y_label=""
    )
    assert learning_curves([own], done) is None
    assert learning_curves([], [(cell, Finished({}, {})) for cell, _ in done]) is None


def test_the_head_links_what_the_package_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = Message()
    stated["Project-URL"] = "Documentation, https://manual.example/"
    stated["Project-URL"] = "Source, https://source.example/"
    monkeypatch.setattr(page, "metadata", lambda _: stated)
    page.project_links.cache_clear()
    crumbs = [("Papers", None)]
    try:
        page.Page("text.md.j2", "A", "", crumbs, {"text": "x"}).write(tmp_path / "a.md")
    finally:
        page.project_links.cache_clear()
    found = re.findall(r'<li><a href="([^"]+)">([^<]+)', (tmp_path / "a.html").read_text())
    assert found == [
        ("index.html#papers", "Papers"), ("index.html#questions", "Questions"),
        ("others.html", "Measured by others"), ("https://manual.example/", "Manual"),
        ("https://source.example/", "Source"),
    ]  # fmt: skip
