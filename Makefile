PYTHON ?= python3
CONSTRAINTS ?= constraints.txt
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
READY := $(VENV)/.ready
# with bytecode, so that the processes which tests start compile nothing anew
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest

.PHONY: help demo test quick thorough coverage oldest docs lint figures pins dist clean

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1	\2/p' $(MAKEFILE_LIST) | expand -t 16

DEMO := ordinate-demo
demo: $(READY) ## train on real data, a table for grades and for a number, and images: models, metrics, reports
	rm -rf $(DEMO)
	$(BIN)/ordinate example --out $(DEMO)
	$(BIN)/ordinate fit $(DEMO)/wine.csv --target quality --out $(DEMO)/quality
	$(BIN)/ordinate predict $(DEMO)/quality $(DEMO)/new-wines.csv --coverage 0.9 --out $(DEMO)/grades.csv
	$(BIN)/ordinate fit $(DEMO)/wine.csv --target alcohol --drop quality --out $(DEMO)/alcohol
	$(BIN)/ordinate example --images --out $(DEMO)
	$(BIN)/ordinate fit $(DEMO)/eyes.zip --set fine_tuned=0 --out $(DEMO)/eyes

test: $(READY) ## run the suite (about 14 minutes on two cores)
	$(PYTEST) -n 2 --dist worksteal

quick: $(READY) ## run the tests nearest to what differs from the last commit (a minute)
	OMP_NUM_THREADS=1 $(BIN)/python tests/tools/quick.py -n 2 -q

thorough: $(READY) ## run the suite and the thorough cases
	$(PYTEST) -n 2 -m ""

coverage: $(READY) ## run the suite and show the lines that it does not execute
	$(PYTEST) -n 2 --cov=ordinate --cov-report=term:skip-covered

OLDEST := tests/losses tests/heads tests/metrics tests/functional/test_supcr.py tests/functional/test_beta_quantiles.py \
	tests/report/test_figures.py tests/test_cli.py
oldest: ## run tests of the base in a fresh environment with the oldest versions of what it requires
	$(PYTHON) -m venv --clear .venv-oldest
	$(subst $(VENV),.venv-oldest,$(BIN))/python -m pip install --quiet --constraint constraints-oldest.txt \
		--editable '.[demo,parquet,pictures,report]' beartype hypothesis pytest
	OMP_NUM_THREADS=1 $(subst $(VENV),.venv-oldest,$(BIN))/python -m pytest $(OLDEST)

docs: $(READY) ## build the site into docs/_build/html, run its examples, check its links, open it in a browser
	$(BIN)/python -P -m sphinx --fail-on-warning --keep-going --quiet -j 2 -b html docs docs/_build/html
	$(PYTEST) -q -n 0 tests/docs tests/release/test_package_page.py tests/browser/test_docs.py

lint: $(READY) ## ruff, mypy, the layers of the package and plain words
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/plain_words.py

figures: $(READY) ## compare the tables of README and docs/measured with benchmarks/results
	$(BIN)/python tools/figures.py

pins: ## renew constraints.txt with the newest versions, then run the suite and lint with them
	$(PYTHON) -m venv --clear .venv-pins
	.venv-pins/bin/python -m pip install --quiet '.[dev]'
	.venv-pins/bin/python -m pip freeze --exclude ordinate | sed 's/+.*//' > constraints.txt
	rm -rf .venv-pins
	$(MAKE) test lint

dist: $(READY) ## build the wheel and the sdist into dist, and check them (with TAG=v1.2.3 that the version is the tag's)
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	$(if $(TAG),test -f dist/ordinate-$(TAG:v%=%).tar.gz)

$(READY): pyproject.toml $(CONSTRAINTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ordinate needs Python 3.11 or later; give one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS) --editable '.[dev]'
	touch $(READY)

clean: ## remove the environment and what was built
	rm -rf $(VENV) build dist docs/_build docs/generated
