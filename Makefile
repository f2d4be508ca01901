# All commands use .venv; `make run` and `make test` need only Python ≥ 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out
PYTHONS ?= python3.11 python3.12 python3.13

.PHONY: run quick test check bench nightly fuzz matrix parsers reliability mutation wheels lock audit site notebooks release-check clean
.DEFAULT_GOAL := run

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

run: $(VENV)/installed  ## install everything, then solve, cross-check and draw
	$(BIN)/cutbench demo --out $(OUT) --overwrite

quick: $(VENV)/installed  ## the tests of the wings that a change touches, in less than 90 seconds
	$(BIN)/python tests/support/quick.py

test: $(VENV)/installed  ## the whole test suite
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder $(TESTS)

check: $(VENV)/installed  ## style and types
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright

bench: $(VENV)/installed  ## run all benchmarks
	$(BIN)/cutbench bench

nightly: check fuzz matrix parsers reliability mutation wheels audit site notebooks bench  ## the checks that take hours; `make -k nightly` continues after a failure

fuzz: $(VENV)/installed  ## run the property tests on 2,000 new examples each
	$(BIN)/python -m pytest -n 2 -m hypothesis --hypothesis-profile=nightly

matrix: $(VENV)/installed  ## every formulation on every structure, every row of docs/sources.md
	CUTBENCH_NIGHTLY=1 $(BIN)/python -m pytest tests/command/test_matrix.py tests/test_sources.py

parsers: $(VENV)/nightly  ## every parser on damaged files, for ten minutes of CPU, and under a fuzzer for eight
	$(BIN)/python tests/nightly/parsers.py 600
	$(BIN)/python tests/nightly/guided.py 60

reliability: $(VENV)/installed  ## runs under fire, hostile files, limits, and 10,000 solves in one process
	$(BIN)/cutbench bench reliability --set kills=1000 --set soak=1

mutation: $(VENV)/installed  ## plant faults in the modules that make proofs and verdicts, and expect a test to fail
	$(BIN)/python tests/nightly/mutation.py $(MODULES)

$(VENV)/nightly: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable '.[nightly]'
	touch $@

$(VENV)/docs: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

site: $(VENV)/docs  ## draw every figure that is missing, and build the documentation in out/site
	$(BIN)/python tests/support/website.py $(OUT)

notebooks: $(VENV)/nightly  ## run every notebook of docs/notebooks
	$(BIN)/python tests/nightly/notebooks.py

release-check: $(VENV)/nightly  ## what must hold before a release, one line an item
	$(BIN)/python tests/nightly/release.py

wheels: $(VENV)/nightly  ## build the wheel, install and use it on every Python of PYTHONS
	$(BIN)/python tests/nightly/wheels.py $(PYTHONS)
	$(BIN)/python tests/nightly/dependencies.py

lock: $(VENV)/installed  ## resolve the packages for development anew, into requirements-dev.lock
	$(BIN)/python tests/nightly/lock.py write

audit: $(VENV)/nightly  ## known vulnerabilities of the locked packages, where the advisories can be reached
	$(BIN)/python tests/nightly/lock.py audit

clean:
	rm -rf $(VENV) $(OUT)
