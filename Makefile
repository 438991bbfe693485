# `make demo` and `make test` set up a virtual environment by themselves; nothing else has to be installed.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_FLAGS ?= -n auto -q
ATTACK_MINUTES ?= 10
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
DEBIAN := mlir-22-tools llvm-22 spirv-tools intel-opencl-icd libigc-tools chromium librsvg2-bin fonts-dejavu-core opencl-c-headers libze-dev neovim emacs-nox elpa-eglot
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: demo test test-all test-lowest times exhaustive oracle-full attack sdist-test lint format bench toolchains picture notebooks notebooks-stored pyodide docs vscode clean help

help:
	@echo "make demo        plan, emit, simulate and check a GEMM"
	@echo "make test        run the quick tests by turns, some of every family: two minutes on two cores (TESTS=tests/core: of that folder)"
	@echo "make test-all    run nearly all tests, those with compilers too; of long families half a second, by turns"
	@echo "make test-lowest run quick tests with the lowest allowed version of every dependency"
	@echo "make exhaustive  run every case of every test, and what takes too long for every change: hostile texts of 16 MB, more generated kernels, every single change of a call or a command line"
	@echo "make times       measure what tests take: tests/times.json, by which the turns are taken"
	@echo "make oracle-full run planned products and attention of every type and storage on Intel's CPU runtime (about 20 minutes)"
	@echo "make attack      throw damaged input at everything for ten minutes (ATTACK_MINUTES=2: for two)"
	@echo "make sdist-test  build the sdist, install what it makes, run its own quick tests"
	@echo "make toolchains  install the compilers that the tests use (Debian packages and large wheels)"
	@echo "make lint        ruff, pyright, the order of the rooms, and code that nothing uses"
	@echo "make notebooks   execute the notebooks and compare; make notebooks-stored stores what they print"
	@echo "make docs        build the documentation site into build/site"
	@echo "make pyodide     fetch Pyodide from npm (14 MB), so that the site's explorer answers in the browser"
	@echo "make vscode      build the extension for VS Code into build/layoutalg.vsix (needs Node 20)"
	@echo "make bench       compare with other layout libraries, and write the table into docs/speed.md"

$(VENV)/installed: pyproject.toml
	@echo "Setting up $(VENV) ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed, this is " + sys.version)'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) -e .
	@touch $@

$(VENV)/installed-test: $(VENV)/installed
	@$(PIP) -e '.[test]'
	@touch $@

$(VENV)/installed-lint: $(VENV)/installed-test
	@$(PIP) -e '.[lint]'
	@touch $@

$(VENV)/installed-notebooks: $(VENV)/installed-test
	@$(PIP) -e '.[notebooks]'
	@touch $@

$(VENV)/installed-docs: $(VENV)/installed-test
	@$(PIP) -e '.[docs]'
	@touch $@

demo: $(VENV)/installed
	@$(BIN)/layoutalg gemm 512 512 512 --run --check -o build/gemm.mlir

test: $(VENV)/installed-test
	@$(BIN)/python -m tests.shares quick $(TESTS)

test-all: $(VENV)/installed-test
	@$(BIN)/python -m tests.shares all $(TESTS)

times: $(VENV)/installed-test
	$(BIN)/python -m pytest -q --sample=1 --store-times --ignore=tests/attack

test-lowest: $(VENV)/installed
	@$(PYTHON) -m venv build/lowest
	@build/lowest/bin/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python tools/lowest_versions.py)
	@build/lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@env PATH="$(CURDIR)/$(VENV)/newtools/bin:$$PATH" build/lowest/bin/python -m tests.shares quick -W ignore::DeprecationWarning $(TESTS)

exhaustive: $(VENV)/installed-test
	LAYOUTALG_EXHAUSTIVE=1 $(BIN)/python -m pytest $(PYTEST_FLAGS) --ignore=tests/attack
	LAYOUTALG_EXHAUSTIVE=1 LAYOUTALG_ATTACK_SEED=11 $(MAKE) attack ATTACK_MINUTES=5

oracle-full: $(VENV)/installed-test
	LAYOUTALG_EXHAUSTIVE=1 $(BIN)/python -m pytest $(PYTEST_FLAGS) tests/oracle/test_kernels_on_cpu.py tests/oracle/test_attention_on_cpu.py tests/oracle/test_builtins.py

attack: $(VENV)/installed-test
	LAYOUTALG_ATTACK_MINUTES=$(ATTACK_MINUTES) $(BIN)/python -m pytest $(PYTEST_FLAGS) tests/attack

sdist-test:
	PYTHON=$(PYTHON) .ci/sdist

lint: $(VENV)/installed-lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/mypy --strict --follow-imports=silent tests/typing
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python tools/dead_code.py

format: $(VENV)/installed-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

notebooks: $(VENV)/installed-notebooks
	$(BIN)/python -m pytest -q -p no:cacheprovider notebooks/store.py
	$(BIN)/python notebooks/store.py --check

notebooks-stored: $(VENV)/installed-notebooks
	$(BIN)/python notebooks/store.py

pyodide:
	tools/static_explorer/pyodide.sh build/pyodide

docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/site

vscode:
	@rm -rf build/vscode && mkdir -p build && cp -r editors/vscode build/vscode
	cd build/vscode && npm install --no-audit --no-fund --loglevel=error && npm run -s check && npm run -s build
	cd build/vscode && npm run -s package -- --out ../layoutalg.vsix

bench: $(VENV)/installed
	$(BIN)/python benchmarks/run.py --keep --page
	$(BIN)/python benchmarks/conversions.py
	$(BIN)/python benchmarks/modules.py
	$(BIN)/python benchmarks/editor.py
	$(BIN)/python benchmarks/propagation.py
	$(BIN)/python benchmarks/gemm.py
	$(BIN)/python benchmarks/amx.py

picture: $(VENV)/installed
	$(BIN)/python docs/picture.py

toolchains: $(VENV)/installed-test
	$(SUDO) apt-get update -qq
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $(DEBIAN) >/dev/null
	$(PIP) -e '.[toolchains]'
	$(PIP) --no-deps --upgrade --target $(VENV)/iree-3.2 iree-base-compiler==3.2.0 # beside the newest, for its spellings
	$(PIP) --no-deps nvidia-cutlass nvidia-cuda-cccl # pycute, and the headers of CuTe and of what they include; the rest needs CUDA
	tools/static_explorer/pyodide.sh build/pyodide || [ $$? = 3 ] # 3: there is no npm, and it says so
	tools/newtools.sh $(VENV)/newtools || [ $$? = 3 ] # 3: the suites no longer have a version, and it says which

clean:
	rm -rf $(VENV) build dist .pytest_cache .hypothesis .ruff_cache
