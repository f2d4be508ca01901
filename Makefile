# Everything happens in .venv; `make run` and `make test` need nothing but Python ≥ 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out

.PHONY: run test check bench nightly clean
.DEFAULT_GOAL := run

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

run: $(VENV)/installed  ## install everything, then solve, cross-check and draw
	$(BIN)/cutbench demo --out $(OUT)

test: $(VENV)/installed  ## the whole test suite
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: $(VENV)/installed  ## style and types
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/pyright

bench: $(VENV)/installed  ## side-by-side speed, as ratios
	$(BIN)/cutbench bench

nightly: test check bench  ## everything, slowly
	$(BIN)/python -m pytest -n 2 --hypothesis-profile=nightly

clean:
	rm -rf $(VENV) $(OUT)
