# Every target sets up what it needs by itself: Python 3.11+, pip and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup demo test lint format hostile bench clean help
.DEFAULT_GOAL := help

help:            ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

setup: $(READY)  ## create .venv and install everything, pinned by constraints.txt

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("rars needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[all,dev]'
	@touch $(READY)

demo: $(READY)   ## the main job, end to end, on the bundled shop
	@$(BIN)/rars demo --out runs/demo

test: $(READY)   ## the tests, doctests included, on two cores
	@$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(READY)   ## ruff (format and rules) and mypy --strict
	@$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/mypy

format: $(READY) ## rewrite the sources the way `make lint` wants them
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix .

hostile: $(READY) ## an hour of hostile input, tampered folders and kill points
	@$(BIN)/python -m tests.hostile

bench: $(READY)  ## side-by-side speed and memory, as ratios measured in one run
	@$(BIN)/python -m benchmarks

clean:           ## remove the environment and the caches, never your data or runs
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
