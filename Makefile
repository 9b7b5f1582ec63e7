PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest

.PHONY: demo test quick thorough coverage docs lint dist clean

demo: $(READY)
	$(BIN)/ordinate demo

test: $(READY)
	$(PYTEST) -n 2

quick: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python tests/tools/quick.py -n 2 -q

thorough: $(READY)
	$(PYTEST) -n 2 -m ""

coverage: $(READY)
	$(PYTEST) -n 2 --cov=ordinate --cov-report=term:skip-covered

docs: $(READY)
	$(BIN)/python -P -m sphinx --fail-on-warning --keep-going --quiet -j 2 -b html docs docs/_build/html
	$(PYTEST) -q -n 0 tests/docs tests/browser/test_docs.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

dist: $(READY)
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ordinate needs Python 3.11 or later; give one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

clean:
	rm -rf $(VENV) build dist docs/_build docs/generated
