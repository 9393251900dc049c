# The two commands of the README set up all they need: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
JOBS   ?= 2
SHARD  ?= 1/1

.PHONY: help demo test test-long lint types tests transcript prove bench faults gpu-check cases clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "bitten needs Python 3.10 or newer: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "setting up $(VENV) (once; torch is the large part) …"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

demo: $(READY)  ## the recipe's own bug, from a failing command to one commit, played by a scripted person
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/play.py

test: lint types tests  ## all checks and tests (under ten minutes on two cores)

lint: $(READY)
	@$(BIN)/ruff check .

types: $(READY)
	@$(BIN)/mypy

tests: $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

test-long: $(READY)  ## the long suite, or a part of it: make test-long SHARD=2/5
	@SHARD=$(SHARD) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests/long

transcript: $(READY)  ## play the demo into the README, and a session inside Claude Code into its page
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/play.py --quiet --write README.md
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/ui.py --write docs/tutorial/inside-claude-code.md

prove: $(READY)  ## every playbook tells its disease from its look-alike
	@for each in unequal-items labels-out-of-range features-misfit; do $(BIN)/bitten prove $$each || exit 1; done

bench: $(READY)  ## print every table of benchmarks/RESULTS.md anew (some ten minutes)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	@$(BIN)/python benchmarks/all.py

faults: $(READY)  ## does the NaN report name the first cause of each fault (peers beside, where they are installed)
	@$(BIN)/python benchmarks/faults/matrix.py

gpu-check: $(READY)  ## what only a GPU can show (eight minutes at most; says so where there is none)
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/gpu_check.py

cases: $(READY)  ## the first three cases of a casebook folder: make cases CASEBOOK=../shared/casebook
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/cases.py $(CASEBOOK)

clean:  ## what make made
	rm -rf $(VENV) .mypy_cache .ruff_cache
