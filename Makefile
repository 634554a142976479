# Each target makes what it needs of .venv when it is missing, and does nothing twice. uv installs, from the index that its
# environment names (by default PyPI): the versions of requirements.txt, and no file whose hash is not listed there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
PINS := requirements.txt
INSTALL := $(UV) pip install --python $(BIN)/python --constraint $(PINS) --build-constraint $(PINS) --editable
RUN := $(VENV)/.for-running
TEST := $(VENV)/.for-tests
DEV := $(VENV)/.for-development
DOCS := $(VENV)/.for-docs

.PHONY: install lock demo site docs printed slurm chromium test test-all test-fast test-oldest cover check clean

install: $(DEV)

# uv comes by pip, at its pinned version.
$(VENV)/.uv: $(PINS)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	sed -n '/^uv==/,/[^\\]$$/p' $(PINS) > $(VENV)/uv.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(VENV)/uv.txt
	touch $@

$(RUN): $(VENV)/.uv pyproject.toml
	$(INSTALL) .
	touch $@

$(TEST): $(VENV)/.uv pyproject.toml
	$(INSTALL) '.[test]'
	touch $(RUN) $@

$(DEV): $(VENV)/.uv pyproject.toml
	$(INSTALL) '.[dev]'
	touch $(RUN) $(TEST) $@

# Pins what pyproject.toml asks for anew, for every Python from the oldest on; `make lock UPGRADE=--upgrade` takes the newest versions.
OLDEST_PYTHON := $(shell sed -n 's/^requires-python = ">=\([0-9.]*\)".*/\1/p' pyproject.toml)
lock: $(VENV)/.uv
	$(UV) pip compile pyproject.toml --all-extras --universal --python-version $(OLDEST_PYTHON) --generate-hashes --no-annotate \
	  --custom-compile-command 'make lock' --quiet $(UPGRADE) --output-file $(PINS)

# Two jobs on what is embedded, two to three minutes on two free cores. What a claim's verdict is does not matter here.
PART := --scale quick --where K=64 --where mi_true=10
demo: $(RUN)
	@echo "1 of 2: EqCo's Table 9 in part, at the published protocol"
	$(BIN)/bench run eqco-table-9 $(PART)
	@echo "2 of 2: DCL against InfoNCE at batch 32, on the embedded digits"
	$(BIN)/bench run dcl-table-1 --scale cpu --where batch_size=32 --seeds 0,1
	$(BIN)/bench claims dcl-table-1 --scale cpu --search small-batch || true
	$(BIN)/bench report eqco-table-9 --scale quick --formats png
	$(BIN)/bench compare eqco-table-9 $(PART)
	@echo "Picture: reports/eqco-table-9/quick/mi-against-k.png; pages: reports/index.html"
	@echo "Next: bench run eqco-table-9 --scale quick (minutes), or bench suites --dataset digits"

# The site of the reference runs: HTML, LaTeX and CSV beside the Markdown and figures that are kept.
site: $(RUN)
	$(BIN)/bench methods --to reports/reference
	$(BIN)/bench --results results/reference report --all --to reports/reference --formats tex,csv

# The manual, with the results site in it: build/docs/index.html. Warnings are errors, and so are broken internal links.
docs: $(DOCS) site
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --builder html docs build/docs
	$(BIN)/python docs/_ext/check_links.py build/docs

$(DOCS): $(VENV)/.uv pyproject.toml
	$(INSTALL) '.[docs]'
	touch $@

# What the claims' checks give on the papers' printed numbers: after a change to checks, comparisons or printed values.
printed: $(RUN)
	$(BIN)/python -m bench.analysis.printed

# A one-host Slurm for the tests of tests/slurm; where it cannot be had they are skipped, and say so.
slurm:
	@command -v sbatch >/dev/null || tests/slurm/cluster.sh install >/dev/null 2>&1 || echo "Slurm cannot be installed here: its tests are skipped"

# Debian's Chromium for the tests of tests/browser; where it cannot be had they are skipped, and say so.
chromium:
	@command -v chromium >/dev/null || { apt-get update && apt-get install --yes --no-install-recommends chromium; } >/dev/null 2>&1 || echo "Chromium cannot be installed here: its tests are skipped"

test: $(TEST) slurm chromium
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal --durations=10 -m "not all_presets" $(TEST_OPTIONS)

# Also the presets of methods that differ from others in sizes alone.
test-all:
	$(MAKE) test TEST_OPTIONS='-m ""'

# What is not marked slow: 60 CPU-seconds in all, which the last lines tell.
test-fast: $(TEST)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal -m "not slow and not all_presets" tests/unit tests/contract

# The oldest versions that pyproject.toml allows, in an environment of their own: by hand, before a release. What they need is new, and some
# of them warn about that, so that warnings are no errors here.
OLDEST := .venv-oldest
test-oldest: $(VENV)/.uv
	$(UV) venv --quiet --clear --python $(BIN)/python $(OLDEST)
	$(UV) pip install --python $(OLDEST)/bin/python --resolution lowest-direct --editable '.[test]'
	OMP_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -n 3 --dist worksteal -W default -m "not slow and not all_presets" tests/unit tests/contract $(TEST_OPTIONS)

# The same as `make test` with coverage, which takes half as long again.
cover:
	$(MAKE) test TEST_OPTIONS='--cov --cov-report=term'

check: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) $(OLDEST) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*
