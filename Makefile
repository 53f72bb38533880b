# The whole project in a few commands; `make help` lists them. Everything runs from .venv, which is made when needed.

PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3.11)
VENV := .venv
BIN := $(VENV)/bin
# DVC runs `python -m selfevolve.stage`: let that be the environment's Python, whether it is activated or not.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help repro test seeds keep lab lint data smollm2 clean inputs

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

repro: $(VENV)/.installed inputs ## run the pipeline: what is stale, in order, resuming what was interrupted; then open reports/index.html
	dvc repro

test: $(VENV)/.installed-dev inputs smollm2 ## run all tests (the first time fetches the SmolLM2 weights, 93 MB)
	python -m pytest -n 2 --dist loadfile

# Each is a DVC experiment in a copy of its own, so artifacts/ here stay as they are; those that are there are kept.
SEEDS ?= 1 2 3
seeds: $(VENV)/.installed inputs ## repeat the whole pipeline from other initial weights (SEEDS="1 2 3"), and compare
	@profile=$$(python -c 'import yaml; print(yaml.safe_load(open("params.yaml"))["profile"])'); \
	for seed in $(SEEDS); do \
	  dvc exp list --name-only | grep -qx "$$profile-seed-$$seed" || \
	    dvc exp run --temp --name "$$profile-seed-$$seed" -S "profiles.$$profile.synthesis.seed=$$seed" || exit 1; \
	done
	dvc exp show --only-changed --no-pager

keep: $(VENV)/.installed ## keep the finished run for comparison with others (NAME=smol-overnight): copies it to runs/, small
	@python -m selfevolve.keep $(or $(NAME),$(error name the run: make keep NAME=smol-overnight))

lab: $(VENV)/.installed inputs ## open the notebooks in JupyterLab
	jupyter lab --notebook-dir=.

lint: $(VENV)/.installed-dev ## check code and notebooks: style, imports, stray outputs
	ruff check
	ruff format --check
	pre-commit run nbstripout --all-files

data: $(VENV)/.installed ## rebuild data/ from its generators (bit for bit what data.dvc tracks)
	python -m selfevolve.data

smollm2: $(VENV)/.installed-dev ## fetch and convert SmolLM2-135M-Instruct (once; needs a network)
	python -m selfevolve.models.smollm2

clean: ## remove half-finished work and tool caches; data/, artifacts/, reports/ and the DVC cache stay
	rm -rf .work .pytest_cache .ruff_cache .hypothesis
	find src tests notebooks -name __pycache__ -o -name .ipynb_checkpoints | xargs rm -rf

# data/ from the remote inside the repository; nothing to do when it is there already.
inputs: $(VENV)/.installed
	@dvc pull data.dvc || { echo "data/ holds changes that data.dvc does not know: keep them (dvc add data) or drop them (dvc checkout --force data.dvc)" >&2; exit 1; }

# Newer than the lock: an edited lock updates the environment. The lock is a constraints file: exact versions, no more.
$(VENV)/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { \
	  echo "Python 3.11 is needed, but '$(PYTHON)' is not that; install it, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "$(PYTHON) cannot make a virtual environment; on Debian: apt install python3.11-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e '.[dev]'
	@touch $@
