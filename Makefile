# Every target makes the environment it needs from a bare Python 3.11; nothing has to be activated.
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
WORKERS ?= 2

# One BLAS thread per process: two workers that each start a thread per core are slower than two that do not.
export OMP_NUM_THREADS      := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS      := 1
# Data sets that are not ours to pass on: a folder beside the clone, unless the variable is set. Without it the tests
# that read them are skipped.
SYNTHDP_SHARED_DATA ?= $(wildcard $(abspath ../shared/data))
export SYNTHDP_SHARED_DATA
export PIP_DISABLE_PIP_VERSION_CHECK := 1

PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --doctest-modules

.PHONY: help demo test test-fast notebooks docs lint format clean

help:
	@echo "make demo       the whole way on the bundled data (init, tune, run); prints where everything is"
	@echo "make test       every test, the slow statistical ones too (what CI runs)"
	@echo "make test-fast  the tests that take milliseconds"
	@echo "make notebooks  runs the notebooks from top to bottom"
	@echo "make docs       builds the site: build/site/index.html, to be read without a network"
	@echo "make lint       ruff check, ruff format --check, mypy --strict"
	@echo "make format     let ruff rewrite the sources"
	@echo "make clean      remove the environment and the caches"

demo: $(STAMP)
	$(BIN)/synthdp demo

test: $(STAMP)
	$(PYTEST) synthdp tests

test-fast: $(STAMP)
	$(PYTEST) -m "not slow" synthdp tests

notebooks: $(STAMP)
	$(PYTEST) tests/contracts/test_notebooks.py

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "build/site/index.html"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The stamp is written last, so that an interrupted installation is done again.
$(STAMP): pyproject.toml constraints.txt
	@set -e; \
	for python in "$(PYTHON)" python3.11 python3 python; do \
	  test -n "$$python" || continue; \
	  "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && break; \
	  python=; \
	done; \
	if test -z "$$python"; then \
	  echo "synthdp needs Python 3.11 or later and found none; install it, or say where it is: make PYTHON=/path/to/python3.11" >&2; \
	  exit 1; \
	fi; \
	if ! "$$python" -m venv $(VENV); then \
	  echo "$$python cannot make a virtual environment; install its venv module (Debian, Ubuntu: apt install python3-venv)" >&2; \
	  exit 1; \
	fi
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	@# compiles the loops, so that nobody waits for that later; should it fail, whoever needs a loop waits instead
	@$(BIN)/synthdp demo --quick --quiet --out $(VENV)/.warm >/dev/null 2>&1 || true
	@rm -rf $(VENV)/.warm
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build/site *.egg-info
