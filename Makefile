# Each target makes its own .venv when it is missing, and does nothing twice.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo test check clean

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

test: $(STAMP)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal --cov --cov-report=term --durations=10

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*
