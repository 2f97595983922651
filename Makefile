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

.PHONY: demo-provider
demo-provider: ## Run the provider in a control plane on this machine: objects go Ready and are deleted (KEEP=1 waits in between)
	@.ci/demo-provider

.PHONY: demo-cluster
demo-cluster: build ## Take a cluster through its life with the real Cluster API, by clusterctl and kubectl (KEEP=1 leaves it running)
	@.ci/demo-cluster

.PHONY: test
test: ## Run all tests, with the race detector and coverage floors (PKG=./lint/... RUN=Name narrows them)
	@$(with_tofu) $(GO) run ./.ci/gotest $(if $(RUN),-run '$(RUN)') $(PKG)

.PHONY: e2e
e2e: ## Run the tests of the provider with the real Cluster API (RUN=TestLife narrows them)
	@.ci/e2e $(if $(RUN),-run '$(RUN)')

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
	@linter=$$(.ci/tools/build golangci-lint); "$$linter" run ./... ./.ci/gotest ./.ci/demoprovider && cd provider/test/e2e && "$$linter" run ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for a moment (FUZZTIME=1m for longer)
	@.ci/fuzz

.PHONY: crash
crash: ## Break every write of an object's life in every way, and kill every part of a run in every step (about an hour)
	@CAPTF_CRASH_STRIDE=1 $(GO) test -run '^TestCrash$$' -timeout 2h ./provider/internal/controllers
	@$(with_tofu) CAPTF_KILLS=all $(GO) test -run '^TestKillsAtEachStep$$' -timeout 2h ./provider/internal/realtest

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

##@ Releases

.PHONY: release
release: ## Make a release of the provider: make release VERSION=v0.1.0 IMAGE=registry/repository (of the manager, without a tag) OUT=dir
	@kubectl=$$(.ci/tools/build kubectl); $(GO) run ./provider/cmd/release --version '$(VERSION)' --image '$(IMAGE)' --out '$(or $(OUT),release)' \
	  --commit "$$(git rev-parse HEAD)" --kubectl "$$kubectl" $(RELEASE_FLAGS)

##@ Tools

.PHONY: tools
tools: ## Build OpenTofu, Kubernetes, golangci-lint and controller-gen into the user's cache, once, and print where they are
	@for name in 'opentofu linux/amd64' 'opentofu linux/arm64' opentofu etcd kube-apiserver kube-controller-manager kubectl \
		golangci-lint controller-gen clusterctl; do .ci/tools/build $$name || exit 1; done

.PHONY: help
help: ## Show this list
	@awk ' \
	  /^##@ /                     { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z][a-z-]*:.*## /       { split($$0, part, /:.*## /); printf "  make %-14s %s\n", part[1], part[2] } \
	' $(firstword $(MAKEFILE_LIST))
