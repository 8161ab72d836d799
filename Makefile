# Everything a developer needs. `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.PHONY: all build test lint fmt check clean install demo bench torture coverage
.PHONY: clients clients-all test-clients test-clients-quick

all: fmt lint test build

$(READY): pyproject.toml setup.py requirements-dev.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.lock --editable .
	@touch $(READY)

demo: $(READY)
	@$(BIN)/ralph demo

test: $(READY)
	$(BIN)/python -m pytest -n 2

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

torture: $(READY)
	RALPH_TORTURE=50 $(BIN)/python -m pytest tests/torture

# The real agent CLIs, from npm, against a scripted model on this machine. The first two are quick enough for every day.
clients: $(READY)
	$(BIN)/python tests/clients/install.py

clients-all: $(READY)
	$(BIN)/python tests/clients/install.py --all

test-clients: clients-all
	$(BIN)/python -m pytest -n 2 -rs -m "clients or clients_slow" tests/clients

test-clients-quick: clients
	$(BIN)/python -m pytest -n 2 -rs -m clients tests/clients

bench: $(READY)
	$(BIN)/python bench/bench.py

install:
	$(PYTHON) -m pip install .

clean:
	rm -rf build dist .coverage* .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
