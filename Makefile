# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
# An environment for each interpreter: `make test PYTHON=python3.12` leaves that of python3 alone.
VENV   ?= .venv$(if $(filter-out python3,$(PYTHON)),-$(notdir $(PYTHON)))
BIN    := $(VENV)/bin

.PHONY: demo demo-full demo-deployed test test-all examples papers mutants lint bench docs docs-serve clean help

help:            ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "netsim needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo "Installing netsim into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	@echo "Installing netsim and what its tests need into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.installed

# The same with walks that end when one agent has been active 12 times, not 40, and 200 transcripts of each world, not 8,000.
DEMO := -o audit.trials=200 -o 'algorithms[0].activations=2000' \
  $(foreach k,1 2 3 4,-o 'algorithms[$(k)].per_agent=12')

demo: $(VENV)/.installed       ## an eavesdropper on DP-RECAL: run, tap, invert, audit, report (up to a minute)
	@echo "Eight agents train a classifier together, every link is tapped, five algorithms are attacked, and the four with a claim are audited."
	@echo "It takes half a minute to a minute and ends with a page to open in a browser. (The full run: make demo-full, 5 to 15 minutes.)"
	@$(BIN)/netsim run eavesdropper-on-dp-recal $(DEMO); status=$$?; [ $$status -le 1 ] || exit $$status

demo-full: $(VENV)/.installed  ## the same with 8,000 transcripts of each world (5 to 15 minutes)
	@$(BIN)/netsim run eavesdropper-on-dp-recal; status=$$?; [ $$status -le 1 ] || exit $$status

demo-deployed: $(VENV)/.installed  ## the same over TCP: a process for every agent, packets captured, gradients from the capture
	@$(BIN)/netsim deploy eavesdropper-on-dp-recal --speed 10 --out results/demo-deployed \
	  -o 'algorithms[0].activations=1000' -o audit.trials=2000; status=$$?; [ $$status -le 1 ] || exit $$status

# Tests are shared among all cores, a file at a time: what a file runs for all its tests is run once.
# Threads of the linear algebra would only wait for one another.
test test-all examples papers mutants: export OPENBLAS_NUM_THREADS = 1
test test-all examples papers mutants: export OMP_NUM_THREADS = 1
# What they import is compiled once, not in every process that they start.
unexport PYTHONDONTWRITEBYTECODE
# Nor does a command under test need processes of its own: the tests have taken the cores.
test test-all examples mutants: export LOKY_MAX_CPU_COUNT = 1

test: $(VENV)/.installed-dev   ## every test but the slow ones and the examples of the docs (minutes)
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not docs and not slow" $(PYTEST_ARGS)

test-all: $(VENV)/.installed-dev  ## the slow ones too: before a release
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not docs" $(PYTEST_ARGS)

examples: $(VENV)/.installed-dev  ## every example of the README and the docs
	$(BIN)/python -m pytest -n auto --dist worksteal -m docs tests/docs $(PYTEST_ARGS)

papers: $(VENV)/.installed-dev ## every item of the papers at its small scale, beside the outcome that is listed
	$(BIN)/netsim papers --run

lint: $(VENV)/.installed-dev   ## ruff, pyright (strict), import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

mutants: $(VENV)/.installed-dev ## small changes of the code that no test notices (an hour; goes on where it was stopped)
	$(BIN)/python -m tests.mutants $(MUTANTS_ARGS)

bench: $(VENV)/.installed-dev  ## every benchmark; each prints a table of ratios
	@for name in $(basename $(notdir $(wildcard benchmarks/[a-z]*.py))); do \
	  echo "== $$name"; $(BIN)/python -m benchmarks.$$name || exit 1; done

docs: $(VENV)/.installed-dev   ## the site of the docs, into site/; a warning is an error
	@said=$$(NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict 2>&1) || { echo "$$said"; exit 1; }
	@echo "The site: site/index.html (its search needs a server: make docs-serve)"

docs-serve: $(VENV)/.installed-dev  ## the site at http://127.0.0.1:8000, while you write
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

clean:           ## remove the environment and caches (results stay)
	rm -rf .venv .venv-* site .pytest_cache .ruff_cache .hypothesis .import_linter_cache
