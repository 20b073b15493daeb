# Everything here needs make and Python 3.11 or newer, nothing else. Each target sets up the environment it needs.
#
#   make demo        install, then train a classifier on handwritten digits with an unmodified PyTorch script
#   make test        the test suite, in a few minutes
#   make long        the tests that it leaves out: sweeps, whole programs, several ranks
#   make lint        formatting, style and types
#   make docs-check  check links and examples of the documents, and the generated stubs
#   make docs        the documentation as a site, in build/docs
#   make notebooks   run the tutorials and store their outputs
#   make oracle      the comparison with PyTorch, in an environment of its own
#   make distributed every collective on 2, 3 and 4 ranks, failures, and a comparison with PyTorch's gloo
#   make torchsuite  PyTorch's own unit tests, where they are in the folder TORCHSUITE=...
#   make tours       libraries written for PyTorch, with PyTorch and with Pellucid in its place
#   make fuzz        random operations, programs and files for SECONDS=60 each, from SEED=...
#   make bench       the benchmarks, side by side with PyTorch
#   make stub        regenerate the type stubs
#   make clean       remove the environments and everything that tools created
#
# PYTHON=... chooses the interpreter, PYTEST_ARGS=... adds arguments to pytest.

PYTHON ?= $(shell sh tools/find_python.sh)
SECONDS ?= 60
SEED ?=
FUZZ_ARGS ?=
PYTEST_ARGS ?=
TORCHSUITE ?= ../shared/torchsuite
TORCHSUITE_ARGS ?= --limit 120 --budget 900
TORCH := torch==2.13.0

# Many small tensors in two worker processes: threads of the array library would only get in each other's way.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

BIN := .venv/bin
ORACLE := .venv-oracle/bin
DOCS := .venv-docs/bin
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test long fuzz lint docs-check docs notebooks oracle distributed torchsuite tours bench stub clean

help:
	@sed -n 's/^#  *make /make /p' Makefile

# The environments are rebuilt from nothing whenever pyproject.toml changes.
.venv/installed: pyproject.toml
	@test -n "$(PYTHON)"
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python $(PIP_INSTALL) --editable .
	@touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/python $(PIP_INSTALL) --editable '.[dev]'
	@touch $@

.venv-oracle/installed: pyproject.toml
	@test -n "$(PYTHON)"
	$(PYTHON) -m venv --clear .venv-oracle
	$(ORACLE)/python $(PIP_INSTALL) $(TORCH) expecttest hypothesis mpi4py mpich onnx onnxruntime onnxscript pytest pytest-xdist scipy
	$(ORACLE)/python $(PIP_INSTALL) --editable .
	@touch $@

.venv-docs/installed: pyproject.toml
	@test -n "$(PYTHON)"
	$(PYTHON) -m venv --clear .venv-docs
	$(DOCS)/python $(PIP_INSTALL) --editable '.[docs,mpi]'
	@touch $@

demo: .venv/installed
	$(BIN)/pellucid run examples/digits.py

test: .venv/installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "not ranks and not long" $(PYTEST_ARGS)

long: .venv/installed-dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "ranks or long" tests $(PYTEST_ARGS)

lint: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs-check: .venv/installed-dev
	$(BIN)/python tools/gen_stub.py --check
	$(BIN)/python -m pytest tests/test_docs.py tests/test_architecture.py $(PYTEST_ARGS)

docs: .venv-docs/installed
	$(DOCS)/python tools/docs/website.py build/docs

notebooks: .venv/installed-dev
	$(BIN)/python tools/docs/notebooks.py --write docs/tutorials/*.ipynb

oracle: .venv-oracle/installed
	$(ORACLE)/python -m pytest -n 2 --dist loadfile -m oracle tests/oracle $(PYTEST_ARGS)

distributed: .venv-oracle/installed
	PELLUCID_TEST_RANKS=2,3,4 $(ORACLE)/python -m pytest tests/distributed tests/check/ranks tests/oracle/test_distributed.py $(PYTEST_ARGS)

torchsuite: .venv-oracle/installed
	@mkdir -p build
	IMPL=pellucid $(ORACLE)/python $(TORCHSUITE)/run.py --path . --json build/torchsuite.json $(TORCHSUITE_ARGS)
	$(ORACLE)/python tools/torchsuite_floor.py build/torchsuite.json tests/oracle/torchsuite.json

.venv-tours/installed: pyproject.toml tests/oracle/tours/requirements.txt
	@test -n "$(PYTHON)"
	$(PYTHON) -m venv --clear .venv-tours
	.venv-tours/bin/python $(PIP_INSTALL) $(TORCH)
	.venv-tours/bin/python $(PIP_INSTALL) pytest -r tests/oracle/tours/requirements.txt
	.venv-tours/bin/python $(PIP_INSTALL) --editable .
	@touch $@

tours: .venv-tours/installed
	.venv-tours/bin/python -m pytest -m oracle tests/oracle/test_tours.py $(PYTEST_ARGS)

fuzz: .venv-oracle/installed
	$(ORACLE)/python tests/fuzz/run.py --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(FUZZ_ARGS)

bench: .venv-oracle/installed
	$(ORACLE)/python benchmarks/run.py

stub: .venv/installed-dev
	$(BIN)/python tools/gen_stub.py

clean:
	rm -rf .venv .venv-oracle .venv-docs .venv-tours .venv-wheel build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
