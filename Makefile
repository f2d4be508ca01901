# Everything happens in .venv; `make run` and `make test` need nothing but Python ≥ 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out
PYTHONS ?= python3.11 python3.12 python3.13

.PHONY: run quick test check bench nightly fuzz mutation wheels clean
.DEFAULT_GOAL := run

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

run: $(VENV)/installed  ## install everything, then solve, cross-check and draw
	$(BIN)/cutbench demo --out $(OUT)

quick: $(VENV)/installed  ## the tests that a change needs, in less than 90 seconds
	$(BIN)/python tests/support/quick.py

test: $(VENV)/installed  ## the whole test suite
	$(BIN)/python -m pytest -n 2 --dist loadfile $(TESTS)

check: $(VENV)/installed  ## style and types
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright

bench: $(VENV)/installed  ## side-by-side speed, as ratios
	$(BIN)/cutbench bench

nightly: fuzz mutation wheels bench  ## what takes hours; `make -k nightly` goes on after a failure

fuzz: $(VENV)/installed  ## the property tests, on 2,000 new examples each
	$(BIN)/python -m pytest -n 2 -m hypothesis --hypothesis-profile=nightly

mutation: $(VENV)/installed  ## faults planted in the modules that prove: does a test fail?
	$(BIN)/python tests/nightly/mutation.py

$(VENV)/nightly: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --editable '.[nightly]'
	touch $@

wheels: $(VENV)/nightly  ## the wheel, built, installed and used on every Python of PYTHONS
	$(BIN)/python tests/nightly/wheels.py $(PYTHONS)

clean:
	rm -rf $(VENV) $(OUT)
