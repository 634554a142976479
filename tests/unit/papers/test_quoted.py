"""Published numbers that are other sources' numbers: each is where its record says."""

from math import floor

import pytest

from bench.papers.others import others, source_named
from bench.papers.reader import PAPERS, PublishedValue, load_paper

QUOTED = [v for name in PAPERS for v in load_paper(name).values if v.quoted_from is not None]
TABLES = {"4", "8", "10", "11", "12", "13", "14", "15", "18"}  # of DCL


def test_the_baselines_of_dcls_tables_are_quoted() -> None:
    tables = {v.artifact.split("-")[1] for v in QUOTED if v.artifact.startswith("table-")}
    assert (tables, {v.paper for v in QUOTED}) == (TABLES, {"dcl"})
    table_8 = [v for v in QUOTED if v.artifact == "table-8-cifar10-baselines"]
    assert len(table_8) == 6
    for value in table_8:
        assert value.metric == "knn_top1"
        assert value.quoted_from is not None
        assert value.quoted_from.metric == "online_linear_top1"


@pytest.mark.parametrize("value", QUOTED, ids=lambda v: f"{v.artifact}, row {v.row + 1}")
def test_a_quoted_number_is_its_sources(value: PublishedValue) -> None:
    quoted = value.quoted_from
    assert quoted is not None
    assert value.is_quoted
    unit = 10**-value.decimals
    cut = floor(quoted.value / unit) * unit
    assert value.value in (round(quoted.value, value.decimals), pytest.approx(cut))
    source = source_named(quoted.source)
    at = f"{source.path}:{quoted.at}"
    there = {r.metric: r.value for r in others() if r.source == source and r.at == at}
    assert there.get(quoted.metric, quoted.value) == quoted.value
    assert there or value.settings["method"] in ("dino", "swav"), "of which no source has rows"
