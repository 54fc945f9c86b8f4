# Two commands do everything: `make demo` and `make test`. Both build their own environment.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
QUESTION := In which year did the Vennick Point lighthouse first light its lamp?
CAMPAIGN_SECONDS ?= 600

# Containers often forbid Python to keep compiled modules. Then every test process compiles all anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo plan endpoint chat environment test checks lint types imports docs collected tests campaign fix clean

demo: plan $(VENV)/.demo  ## fetch the local models once, and ask a question whose documents disagree
	$(BIN)/conflictscore model fetch || { $(MAKE) -s endpoint; exit 1; }
	$(BIN)/conflictscore ask "$(QUESTION)" --docs examples/lighthouse --model local

plan:  ## what the demo will do; a key in the environment is never used unasked
	@echo "1. Set up $(VENV). 2. Fetch the local models once (1.5 GB). 3. Ask seven documents that disagree."
	@echo "The first run takes some 3 minutes and the download on two quiet cores, later ones 1 to 2 minutes."
	@if [ -n "$$OPENAI_API_KEY" ]; then \
	  echo "OPENAI_API_KEY is set, and this demo does not use it. To ask that endpoint instead, at its price and without the"; \
	  echo "download, press Ctrl-C and run:"; \
	  echo "  make $(VENV)/.demo && $(BIN)/conflictscore ask \"$(QUESTION)\" --docs examples/lighthouse --model openai:gpt-4.1-mini"; \
	fi

endpoint:  ## how to ask the demo's question without the download
	@echo "To ask a model behind an API instead, without the download (OPENAI_API_KEY holds its key), run:"
	@echo "  $(BIN)/conflictscore ask \"$(QUESTION)\" --docs examples/lighthouse --model NAME --base-url URL"

chat: $(VENV)/.demo  ## the chat page and the runs page on the same documents, at http://127.0.0.1:8400
	$(BIN)/python -m pip install --quiet --editable '.[local,serve]'
	$(BIN)/conflictscore model fetch
	$(BIN)/conflictscore serve --docs examples/lighthouse --model local --runs-file runs.sqlite

environment: $(VENV)/.test  ## what the tests need, in $(VENV)

test: $(VENV)/.test  ## everything that CI runs; tests wait a part of their time, when the checks run
	$(MAKE) --jobs=3 FIRST=collected types collected lint imports docs tests

checks: $(VENV)/.test  ## what reads the code without running it, side by side
	$(MAKE) --jobs=3 --output-sync types lint imports docs

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

imports: $(VENV)/.test
	$(BIN)/lint-imports

docs: $(VENV)/.test  ## the docs site, in build/site; a link that leads nowhere stops it
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/site

collected: $(VENV)/.test  ## compile the tests and what they import once, not once a worker
	$(BIN)/pytest --collect-only --quiet --quiet --numprocesses=0 > $(VENV)/collected.txt || { cat $(VENV)/collected.txt; exit 1; }

tests: $(VENV)/.test $(FIRST)
	$(BIN)/pytest

campaign: $(VENV)/.test  ## twenty-six kinds of attack and breakage, for so many seconds
	$(BIN)/python -m measurements.campaign --seconds $(CAMPAIGN_SECONDS)

fix: $(VENV)/.test  ## format, and mend what ruff can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one with PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[local]'
	touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[bench,docs,fetch,inspect,langchain,local,mcp,nli,offline-tokens,postgres,serve,socks]' --group dev --group docs
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
