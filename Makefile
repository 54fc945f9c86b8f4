# `make demo` shows the loop, and `make test` runs all checks. Both set up their own environment.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
QUESTION := In which year did the Vennick Point lighthouse first light its lamp?
CAMPAIGN_SECONDS ?= 600

# Containers often set this variable, so that every test process would compile all modules again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo plan endpoint chat environment test checks lint types imports docs collected tests campaign fix clean

demo: plan $(VENV)/.demo  ## fetch the local models once, and ask a question on which documents disagree
	$(BIN)/conflictscore model fetch || { $(MAKE) -s endpoint; exit 1; }
	$(BIN)/conflictscore ask "$(QUESTION)" --docs examples/lighthouse --model local

plan:  ## print what the demo will do; it never uses a key from the environment
	@echo "1. Set up $(VENV). 2. Fetch the local models once (1.5 GB). 3. Answer a question from seven documents that disagree."
	@echo "On two idle cores, the first run takes about 3 minutes plus the download, and a later run about 1 minute."
	@if [ -n "$$OPENAI_API_KEY" ]; then \
	  echo "OPENAI_API_KEY is set, but this demo does not use it. To use OpenAI instead, at its price and without the"; \
	  echo "download, press Ctrl-C and run:"; \
	  echo "  make $(VENV)/.demo && $(BIN)/conflictscore ask \"$(QUESTION)\" --docs examples/lighthouse --model openai:gpt-4.1-mini"; \
	fi

endpoint:  ## print how to run the demo without the download
	@echo "To ask a model behind an API instead, without the download (OPENAI_API_KEY holds its key), run:"
	@echo "  $(BIN)/conflictscore ask \"$(QUESTION)\" --docs examples/lighthouse --model NAME --base-url URL"

chat: $(VENV)/.demo  ## serve the chat page and the runs page, with the same documents, at http://127.0.0.1:8400
	$(BIN)/python -m pip install --quiet --editable '.[local,serve]'
	$(BIN)/conflictscore model fetch
	$(BIN)/conflictscore serve --docs examples/lighthouse --model local --runs-file runs.sqlite

environment: $(VENV)/.test  ## install what the tests need into $(VENV)

test: $(VENV)/.test  ## run everything that CI runs; the checks run beside the tests, which sometimes wait
	$(MAKE) --jobs=3 FIRST=collected types collected lint imports docs tests

checks: $(VENV)/.test  ## run the static checks in parallel
	$(MAKE) --jobs=3 --output-sync types lint imports docs

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

imports: $(VENV)/.test
	$(BIN)/lint-imports

docs: $(VENV)/.test  ## build the docs site in build/site; a broken link is an error
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/site

collected: $(VENV)/.test  ## compile the tests and their imports once, instead of once per worker
	$(BIN)/pytest --collect-only --quiet --quiet --numprocesses=0 > $(VENV)/collected.txt || { cat $(VENV)/collected.txt; exit 1; }

tests: $(VENV)/.test $(FIRST)
	$(BIN)/pytest

campaign: $(VENV)/.test  ## try twenty-six kinds of attacks and failures for CAMPAIGN_SECONDS seconds
	$(BIN)/python -m measurements.campaign --seconds $(CAMPAIGN_SECONDS)

fix: $(VENV)/.test  ## format, and fix what ruff can fix
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
