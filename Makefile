# Everything a developer runs. `make` alone lists the commands.
# Needs Python 3.11 or newer and make; the rest is installed into .venv on the first command.

PYTHON ?= python3
ARGS ?=
NATIVE := $(wildcard src/scstream/core/native/*.?pp src/scstream/core/native/CMakeLists.txt)

VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.ready-bench
BROWSER_READY := $(VENV)/.browser
DOCS_READY := $(VENV)/.ready-docs
UNIT = OPENBLAS_NUM_THREADS=1 $(RUN) -m pytest -q -n 4 --dist worksteal $(ARGS)

# Old syntax on purpose: a Python too old must get as far as the message.
define CHECK_VERSION
import sys
if sys.version_info < (3, 11):
    sys.exit("scstream needs Python 3.11 or newer; %s is %d.%d.\n"
             "Name a newer one: make PYTHON=python3.12 ..."
             % ((sys.executable,) + sys.version_info[:2]))
endef
export CHECK_VERSION

.DEFAULT_GOAL := help
.PHONY: help demo test lint types unit test-slow mutants quality soak bench-speed bench bench-full \
        bench-report page picture docs dist format clean

help:  ## list these commands
	@echo "make COMMAND, where COMMAND is one of"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s%s\n", $$1, $$2}' Makefile

demo: $(READY)  ## cluster a drifting stream, print what was found, draw scstream-demo.png
	@$(RUN) -m scstream demo $(ARGS)

test: lint  ## lint, types and all tests but the slow ones
	@$(MAKE) --no-print-directory -j 2 types $(BROWSER_READY)
	@$(UNIT)

lint: $(READY)  ## ruff: format and rules; which folder may import which
	@$(RUN) -m ruff format --check --output-format concise . || { echo "Run 'make format'."; exit 1; }
	@$(RUN) -m ruff check .
	@said=$$($(VENV)/bin/lint-imports --no-logo --no-cache 2>&1) || { echo "$$said"; exit 1; }

types: $(READY)  ## mypy
	@$(RUN) -m mypy

unit: $(READY) $(BROWSER_READY)  ## pytest (ARGS="-k name" to choose); some tests wait: four at a time
	@$(UNIT)

test-slow: $(READY)  ## the slow statistical tests
	@$(RUN) -m pytest -q -m slow $(ARGS)

mutants: $(READY)  ## do the tests catch small faults? listed ones, or ARGS="--sample 50" for random ones
	@$(RUN) tests/mutants.py $(ARGS)

quality: $(READY)  ## the quality benchmark
	@$(RUN) benchmarks/quality.py $(ARGS)

soak: $(READY)  ## an hour of kills, full disks, rotated files and lost brokers (ARGS="--seconds 60")
	@$(RUN) -m benchmarks.soak $(ARGS)

bench-speed: $(READY)  ## how fast, against scikit-learn and the bare matrix products
	@$(RUN) -m benchmarks.speed --docs $(ARGS)

bench: $(BENCH_READY)  ## the comparison with other methods, short version (a quarter of an hour): prints a table
	@$(RUN) -m benchmarks run --short --jobs 2 $(ARGS)

bench-full: $(BENCH_READY)  ## the comparison in full (days), with its pages; goes on where it was stopped
	@$(RUN) -m benchmarks run --full $(ARGS)
	@$(RUN) -m benchmarks report --results benchmarks/results/full.jsonl --publish

bench-report: $(BENCH_READY)  ## docs/comparison.md and the raw tables again, from published rows
	@$(RUN) -m benchmarks report $(ARGS)

page:  ## build the page that shows a run, from web/ (needs Node)
	@cd web && npm ci --no-audit --no-fund && npm run check && npm run build

picture: $(READY)  ## the pictures of the README and of docs/pictures.md
	@$(RUN) -m scstream demo --overwrite --picture docs/drift.png
	@$(RUN) docs/pictures/draw.py

docs: $(DOCS_READY)  ## the documentation as a site, into build/docs (a few minutes)
	@$(RUN) -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "build/docs/index.html"

dist: $(READY)  ## wheel and sdist, each installed into a fresh environment and tried
	@$(RUN) tests/distributions.py $(ARGS)

format: $(READY)  ## format the code and mend what ruff can mend
	@$(RUN) -m ruff check --fix --quiet . ; $(RUN) -m ruff format .

clean:  ## remove caches and build products; keeps .venv
	@rm -rf build dist docs/generated docs/gallery docs/drawn .mypy_cache .pytest_cache .ruff_cache scstream-demo.png
	@find . -path ./$(VENV) -prune -o -name __pycache__ -type d -print | xargs rm -rf

# The environment, made once and brought up to date when pyproject.toml or the C++ code changes.
$(READY): pyproject.toml $(NATIVE)
	@test -x $(RUN) || command -v "$(PYTHON)" >/dev/null || { \
	    echo "'$(PYTHON)' was not found: install Python 3.11 or newer, or name it: make PYTHON=..."; \
	    exit 1; }
	@if test -x $(RUN); then $(RUN) -c "$$CHECK_VERSION"; else "$(PYTHON)" -c "$$CHECK_VERSION"; fi
	@echo "Setting up $(VENV) (once, a minute or two) ..."
	@test -x $(RUN) || "$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	@$(RUN) -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@$(RUN) -m pip install --quiet --disable-pip-version-check --editable . --group dev
	@touch $@

# A browser for the tests of the page, if one may be had; tried once, and never a reason to fail.
$(BROWSER_READY): $(READY)
	@$(RUN) tests/get_browser.py || true
	@touch $@

# What builds the documentation.
$(DOCS_READY): $(READY)
	@$(RUN) -m pip install --quiet --disable-pip-version-check --group docs
	@touch $@

# The other methods of the comparison, only for those who run it.
$(BENCH_READY): $(READY)
	@echo "Adding the methods to compare with ..."
	@$(RUN) -m pip install --quiet --disable-pip-version-check --group bench
	@touch $@
