# Everything a developer needs. `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed
READY := $(VENV)/ready

.PHONY: all build test lint fmt check clean install demo bench torture honesty coverage mutants
.PHONY: docs pictures lint-workflows test-pythons clients clients-all test-clients test-clients-quick test-sandbox test-browser test-long

all: fmt lint test build

# ralph itself: all that `make demo` needs
$(INSTALLED): pyproject.toml setup.py
	@command -v git >/dev/null || { echo "git is missing: apt install git (or: brew install git)" >&2; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "Python's venv module is missing: apt install python3-venv" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $(INSTALLED)

# and what the tests and checks need, locked
$(READY): $(INSTALLED) requirements-dev.lock
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.lock --editable '.[web,notify,otel,mcp]'
	@touch $(READY)

demo: $(INSTALLED)
	@$(BIN)/ralph demo

test: $(READY)
	$(BIN)/python -m pytest -n 3 -m "not long"

# Whole pipelines, kills, packages, state of older versions: the rest of the tests
test-long: $(READY)
	$(BIN)/python -m pytest -n 3 -m long

# With every Python we support that is installed here: make test-pythons, or PYTHONS="3.12 3.13"
test-pythons:
	$(PYTHON) tools/pythons.py $(PYTHONS)

build: $(READY)
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

fmt: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

check: $(READY)
	$(BIN)/ruff format --check .
	$(MAKE) --no-print-directory lint

coverage: $(READY)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# The pages of docs/ as a site in dist/site, a broken link is an error; and the workflows, checked
$(VENV)/docs-ready: $(INSTALLED) requirements-docs.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-docs.lock
	@touch $@

docs: $(VENV)/docs-ready
	$(BIN)/python tools/write_reference.py
	$(BIN)/zensical build --config-file mkdocs.yml --strict

# The pictures of README and docs, from real runs of a scripted agent
pictures: $(VENV)/docs-ready $(VENV)/browser-ready
	$(BIN)/python tools/draw_pictures.py
	$(BIN)/python tools/draw_web_picture.py

lint-workflows: $(VENV)/docs-ready
	$(BIN)/zizmor --quiet --offline .github

# Which small wrong changes do the tests not notice? Slow, for an idle machine: make mutants MODULES=src/ralph/core/step.py
MODULES ?= src/ralph/core src/ralph/engine
mutants: $(READY)
	$(BIN)/python tools/mutants.py $(MODULES)

honesty: $(READY)
	$(BIN)/python tests/torture/honesty.py

torture: $(READY)
	RALPH_TORTURE=50 $(BIN)/python -m pytest tests/torture --ignore tests/torture/test_honesty.py
	rm -f build/crashes.ndjson
	$(BIN)/python tests/torture/crashes.py

# The real agent CLIs, from npm, against a scripted model on this machine. The first two are quick enough for every day.
clients: $(READY)
	PYTHONPATH=tests $(BIN)/python -m support.debian bubblewrap socat
	$(BIN)/python tests/clients/install.py

clients-all: $(READY)
	$(BIN)/python tests/clients/install.py --all

test-clients: clients-all
	$(BIN)/python -m pytest -n 2 -rs -m "clients or clients_slow" tests/clients

test-clients-quick: clients
	$(BIN)/python -m pytest -n 2 -rs -m clients tests/clients

# Real sandboxes: every way out is tried. What cannot be had on this machine is said to be not run.
test-sandbox: $(READY)
	PYTHONPATH=tests $(BIN)/python -m support.debian bubblewrap
	PYTHONPATH=tests $(BIN)/python tests/support/engines.py
	$(BIN)/python -m pytest -n 2 --dist loadfile -rs -m sandbox tests/sandboxes

# The web page in Debian's Chromium. What cannot be had on this machine is said to be not run.
$(VENV)/browser-ready: $(READY) requirements-browser.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements-browser.lock
	@touch $@

test-browser: $(VENV)/browser-ready
	PYTHONPATH=tests $(BIN)/python tests/browser/install.py
	$(BIN)/python -m pytest -n 2 -rs -m browser tests/browser

bench: $(READY)
	$(BIN)/python bench/bench.py

install:
	$(PYTHON) -m pip install .

clean:
	rm -rf build dist .coverage* .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
