# Every verb sets up what it needs in .venv, and can be run again.
.DEFAULT_GOAL := help
.PHONY: help setup up down test image install-test lint bench docs

BIN := .venv/bin
QUESTION := Where is a model's digest verified?
SMALL_MODELS := smollm2-135m-instruct-q4_1 all-minilm-l6-v2-int8
TEST_MODELS := $(or $(SKELLIG_TEST_MODELS),.cache/models)

help: ## List the verbs
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 22

setup: ## Make .venv and install everything into it
	@.ci/setup dev

up: ## Start the appliance, index this checkout, ask a first question
	@.ci/setup run
	@$(BIN)/skellig model pull
	@$(BIN)/skellig up
	@$(BIN)/skellig repo add . --name skellig --vectors
	@$(BIN)/skellig ask "$(QUESTION)"
	@$(BIN)/skellig up

down: ## Stop the appliance
	@.ci/setup run
	@$(BIN)/skellig down

# three at once on two cores: tests wait for programs and locks a fifth of their time; bytecode is kept whatever the
# environment says, since each of the programs that they start would compile the appliance anew
test: ## Run the tests
	@.ci/setup dev
	@.ci/models $(SMALL_MODELS)
	@PYTHONDONTWRITEBYTECODE= .ci/offline .ci/memory $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not image and not install"

image: ## Build the container image and prove it
	@.ci/tools
	@.ci/setup dev
	@.ci/models $(SMALL_MODELS)
	@.ci/image
	@$(BIN)/pytest tests/image

install-test: ## Install the appliance on a fake host over SSH, upgrade it, take it back, remove it
	@.ci/install

lint: ## Check format, style, types, floors and spelling
	@.ci/setup dev
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/codespell appliance docs models tests Makefile README.md CHANGELOG.md

bench: ## Measure speed, memory and quality
	@.ci/setup dev
	@$(BIN)/skellig model pull qwen2.5-coder-1.5b-instruct-q4_k_m all-minilm-l6-v2-int8 --store $(TEST_MODELS)
	@$(BIN)/python -m tests.benchmarks

docs: ## Build the documentation into docs/_build
	@.ci/setup dev
	@$(BIN)/sphinx-build -n -W -q docs docs/_build
	@echo "The documentation is at docs/_build/index.html"
