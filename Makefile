# make run    set everything up and open the chat
# make test   set everything up and run the tests
# make check  what CI runs beside the tests: lint, types, doors between rooms
# make bench  measure speed (ONLY=name for one)
# make docs   make the screenshots of the docs again

SHELL := /bin/bash
.DEFAULT_GOAL := run
UV ?= $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
PY := .venv/bin/python
export UV_PYTHON_PREFERENCE ?= system

.PHONY: run test check bench docs setup

run: setup
	@.venv/bin/botpsy $(if $(MODEL),--model $(MODEL))

test: setup
	@echo "Running the tests; the first run fetches two models (1.6 GB) from the package index."
	@$(PY) -m pytest -n 2 --dist loadgroup $(ARGS)

check: setup
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/pyright
	@.venv/bin/lint-imports

bench: setup
	@$(PY) -m benchmarks $(ONLY)

docs: setup
	@$(PY) -m tests.tui.screenshots

# The environment is made again only when the lock file is newer than it.
setup: .venv/.ready

.venv/.ready: uv.lock pyproject.toml | $(if $(findstring .uv,$(UV)),.uv/bin/uv)
	@command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || \
	  { echo "A C++ compiler is needed to build llama.cpp: install g++ or clang (on Debian: apt-get install g++)."; exit 1; }
	@echo "Setting up: dependencies from the lock file; llama.cpp is built from source (about 5 minutes on two cores) …"
	@start=$$(date +%s); $(UV) sync --locked --quiet && touch $@ && \
	  echo "Set up in $$(( $$(date +%s) - start )) s."

.uv/bin/uv:
	@echo "Installing uv into .uv …"
	@python3 -m venv .uv && .uv/bin/python -m pip install --quiet --disable-pip-version-check uv
