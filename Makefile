# Two commands do everything: make demo, make test. The rest is for who works on the project; `make help` lists it.
# The recipes are short: what needs more than a line is a script in .ci, which says at its top what it does.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# What to test, for `make test` and `make bench`: make test PKG=./lint/... RUN=TestExplain
PKG ?= ./... ./.ci/gotest
RUN ?=

# The OpenTofu that tests and benchmarks use. CAPTF_TOFU names another binary.
with_tofu = export CAPTF_TOFU="$${CAPTF_TOFU:-$$(.ci/tools/build opentofu)}"; [ -n "$$CAPTF_TOFU" ];

##@ Start here

.PHONY: demo
demo: build ## Scaffold a module set, lint it, play a cluster's whole life on it (KEEP=1 keeps the files)
	@.ci/demo

.PHONY: demo-image
demo-image: build ## Build the images of the no-op modules, publish them to a loopback registry, lint them, try them out
	@.ci/demo-image

.PHONY: test
test: ## Run all tests, with the race detector and coverage floors (PKG=./lint/... RUN=Name narrows them)
	@$(with_tofu) $(GO) run ./.ci/gotest $(if $(RUN),-run '$(RUN)') $(PKG)

##@ Working on the code

.PHONY: build
build: ## Build bin/captf and bin/tfcapi-lint
	@mkdir -p bin
	@CGO_ENABLED=0 $(GO) build -buildvcs=auto -ldflags "-X main.version=$(VERSION)" -o bin/ ./sdk/cmd/captf ./lint/cmd/tfcapi-lint

.PHONY: generate
generate: ## Write the generated schemas and reference pages anew
	@$(GO) generate ./...

.PHONY: fmt
fmt: ## Format the Go files
	@"$$(.ci/tools/build golangci-lint)" fmt

.PHONY: lint
lint: ## Run golangci-lint
	@"$$(.ci/tools/build golangci-lint)" run ./... ./.ci/gotest

.PHONY: fuzz
fuzz: ## Run every fuzz target for a moment (FUZZTIME=1m for longer)
	@.ci/fuzz

.PHONY: clean
clean: ## Remove what make build made; built tools stay in the user's cache
	@rm -rf bin

##@ Before a pull request

.PHONY: verify
verify: ## Check format, vet, lint, go.mod, generated files, the docs' commands and the scripts
	@.ci/verify

.PHONY: bench
bench: ## Run the benchmarks that keep the bars of the design, and print their ratios
	@$(with_tofu) .ci/bench

##@ Tools

.PHONY: tools
tools: ## Build OpenTofu and golangci-lint into the user's cache, once, and print where they are
	@for name in 'opentofu linux/amd64' 'opentofu linux/arm64' opentofu golangci-lint; do .ci/tools/build $$name || exit 1; done

.PHONY: help
help: ## Show this list
	@awk ' \
	  /^##@ /                     { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z][a-z-]*:.*## /       { split($$0, part, /:.*## /); printf "  make %-12s %s\n", part[1], part[2] } \
	' $(firstword $(MAKEFILE_LIST))
