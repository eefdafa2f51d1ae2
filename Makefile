# Every target needs only Python >= 3.11, make and a package index. `make help` lists them.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
LEGACY_VENV := .venv-legacy
# The version that verl and vLLM stacks pin; it brings huggingface-hub 1.x.
LEGACY_TRANSFORMERS := 5.12.1
IN_PARALLEL := -n auto
SOURCES := cli tests scripts benchmarks
# The tests start hundreds of processes, each of which would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

# Sets $$python to the first usable interpreter: PYTHON if it is given, else the newest on the path.
find_python = \
	python=; \
	for candidate in $(if $(PYTHON),$(PYTHON),python3.13 python3.12 python3.11 python3); do \
		if $$candidate -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			python=$$candidate; break; \
		fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "make: no Python >= 3.11 with the venv module was found; install one (on Debian: python3 and python3-venv) or name it: make PYTHON=/path/to/python3" >&2; \
		exit 1; \
	fi

.PHONY: help
help:  ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | while IFS="$$(printf '\t')" read -r target text; do \
		printf '  %-14s %s\n' "$$target" "$$text"; \
	done

# The stamps are newer than pyproject.toml while what it asks for is installed.
$(VENV)/installed: pyproject.toml
	@$(find_python); echo "Installing rgw into $(VENV) (about a minute)" >&2; $$python -m venv $(VENV)
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --editable '.[test,lint]'
	@touch $@

$(LEGACY_VENV)/installed: pyproject.toml
	@$(find_python); echo "Installing rgw into $(LEGACY_VENV) (about a minute)" >&2; $$python -m venv $(LEGACY_VENV)
	@$(LEGACY_VENV)/bin/python -m pip install -qq --disable-pip-version-check --editable '.[test]' 'transformers==$(LEGACY_TRANSFORMERS)'
	@touch $@

.PHONY: dev
dev: $(VENV)/installed  ## Create .venv and install rgw with everything that testing and linting need

.PHONY: demo
demo: $(VENV)/installed  ## Recognise an example model and read sample outputs with its schema
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sh examples/demo.sh

.PHONY: lint
lint: $(VENV)/installed  ## Check style, formatting, types and the import rule
	$(VENV)/bin/ruff check $(SOURCES)
	$(VENV)/bin/ruff format --check $(SOURCES)
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo

.PHONY: reformat
reformat: $(VENV)/installed  ## Format the code and apply the safe fixes
	$(VENV)/bin/ruff check --fix-only $(SOURCES)
	$(VENV)/bin/ruff format $(SOURCES)

.PHONY: test
test: $(VENV)/installed  ## Run the tests
	$(VENV)/bin/pytest $(IN_PARALLEL) -m 'not live and not corpus and not nightly'

.PHONY: test-legacy
test-legacy: $(LEGACY_VENV)/installed  ## Run the derender's tests with the older transformers, in .venv-legacy
	$(LEGACY_VENV)/bin/pytest $(IN_PARALLEL) -m 'both_engines and not live and not corpus'

.PHONY: test-corpus
test-corpus: $(VENV)/installed  ## Run the tests that need the corpus of real templates beside the checkout
	$(VENV)/bin/pytest $(IN_PARALLEL) -m corpus

# Where the texts of templates lie: the registry holds none. Without CORPUS they come from the hub.
CORPUS := $(wildcard ../shared/corpus/templates)

.PHONY: prove-nightly
prove-nightly: $(VENV)/installed  ## Prove every registered pair at 1,000 conversations (about an hour)
	$(VENV)/bin/rgw prove --all --conversations 1000 $(if $(CORPUS),--templates $(CORPUS))

.PHONY: prove-long
prove-long: $(VENV)/installed  ## Prove every schema at 100,000 conversations, for docs/proof.md (hours; goes on where it was stopped)
	$(VENV)/bin/python scripts/prove_long.py ../shared/corpus/templates --jobs 2

.PHONY: test-nightly
test-nightly: $(VENV)/installed  ## Read outputs of a megabyte, and hold the properties on many examples (takes hours)
	$(VENV)/bin/pytest $(IN_PARALLEL) tests/derender/test_properties.py --hypothesis-profile nightly
	$(VENV)/bin/pytest $(IN_PARALLEL) -m nightly --nightly

.PHONY: test-live
test-live: $(VENV)/installed  ## Ask the real hub: one repository for each registered template (needs the network)
	$(VENV)/bin/pytest -m live --live

.PHONY: bench
bench: $(VENV)/installed  ## Measure start-up, parsing and growth
	@for script in benchmarks/bench_*.py; do \
		echo "== $$script"; $(VENV)/bin/python "$$script" || exit 1; \
	done

.PHONY: docs
docs: $(VENV)/installed  ## Run the commands shown in README.md and docs/ again and paste what they print
	$(VENV)/bin/python scripts/write_rules_page.py
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python scripts/paste_output.py

.PHONY: infer-corpus
infer-corpus: $(VENV)/installed  ## Infer a schema for each real template beside the checkout, for docs/inference.md
	$(VENV)/bin/python scripts/infer_corpus.py ../shared/corpus --jobs 2

.PHONY: package
package: $(VENV)/installed  ## Build the sdist and the wheel into dist/
	$(VENV)/bin/python -m build

.PHONY: clean
clean:  ## Remove the virtual environments, builds and caches
	rm -rf $(VENV) $(LEGACY_VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find cli tests scripts benchmarks -type d -name __pycache__ -prune -exec rm -rf {} +
