# Each target makes its own .venv when it is missing, and does nothing twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo site slurm chromium test test-fast cover check clean

install: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# The main job on what is embedded: EqCo's Table 9 for K = 64 and 128 at the published protocol.
demo: $(STAMP)
	$(BIN)/bench run eqco-table-9 --scale quick
	$(BIN)/bench report eqco-table-9 --scale quick
	$(BIN)/bench compare eqco-table-9 --scale quick

# The site of the reference runs: HTML, LaTeX and CSV beside the Markdown and figures that are kept.
site: $(STAMP)
	$(BIN)/bench methods --to reports/reference
	$(BIN)/bench --results results/reference report --all --to reports/reference --formats tex,csv

# A one-host Slurm for the tests of tests/slurm; where it cannot be had they are skipped, and say so.
slurm:
	@command -v sbatch >/dev/null || tests/slurm/cluster.sh install >/dev/null 2>&1 || echo "Slurm cannot be installed here: its tests are skipped"

# Debian's Chromium for the tests of tests/browser; where it cannot be had they are skipped, and say so.
chromium:
	@command -v chromium >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends chromium; } >/dev/null 2>&1 || echo "Chromium cannot be installed here: its tests are skipped"

test: $(STAMP) slurm chromium
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal --durations=10 $(TEST_OPTIONS)

# What is not marked slow: 60 CPU-seconds in all, which the last lines tell.
test-fast: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal -m "not slow" tests/unit tests/contract

# The same as `make test` with coverage, which takes half as long again.
cover:
	$(MAKE) test TEST_OPTIONS='--cov --cov-report=term'

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*
