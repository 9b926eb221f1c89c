# Each target prepares .venv by itself and reinstalls only when the pinned versions change.
# PYTHON names the interpreter to start from, ARGS adds arguments to the command that is run.

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin

bootstrap = @command -v $(PYTHON) >/dev/null 2>&1 || { \
	echo "Holdfast needs Python 3.11 or newer, but there is no $(PYTHON): install it, or name it with 'make $@ PYTHON=...'." >&2; exit 1; }; \
	$(PYTHON) scripts/bootstrap.py

.DEFAULT_GOAL := help
.PHONY: help demo test docs bench clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Install, then fine-tune five models, attack them and write a report (minutes)
	$(bootstrap) demo
	$(BIN)/holdfast demo $(ARGS)

test: ## Install the development tools, then lint, types, import contracts and tests
	$(bootstrap) test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n auto --dist worksteal $(ARGS)

docs: ## Build the documentation into site/; warnings are errors
	$(bootstrap) docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict $(ARGS)

bench: ## Compare solvers on the demo's model, then what connections cost (meant for a GPU)
	$(bootstrap) bench
	model=$$($(BIN)/python scripts/demo_texts.py runs/bench/texts.txt) && \
	$(BIN)/python benchmarks/residuals.py --name all-MiniLM-L6-v2 --model "$$model" --texts runs/bench/texts.txt --output runs/bench/residuals.json
	$(BIN)/python benchmarks/connection_cost.py --output runs/bench/connection_cost.json $(ARGS)

clean: ## Remove .venv, caches and everything that was built
	rm -rf .venv build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
