# ThreeGate TOOL-EXEC. `make help` lists the targets.

SHELL       := /bin/bash
BIN         := bin
IMAGES      := build/images
export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: help tools-real proof browser release vm toolchains oracles accuracy accuracy-real bench-rules bench-tools gitleaks-rules fuzz build setup images tools mcp-clients ast-tools demo bench test test-pure escape escape-gvisor race check clean distclean docs generate

# Tests of several packages run `make build` at the same time: the first builds, and go leaves alone what is current.
GOBUILD := CGO_ENABLED=0 flock $(BIN) go build -trimpath

# Tests on real containers take minutes on a small machine.
GOTEST := go test -timeout 30m

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/threegate and the programs of its sandboxes: threegate-init, threegate-payload and threegate-tools
	@mkdir -p $(BIN)
	$(GOBUILD) -o $(BIN)/threegate ./cmd/threegate
	$(GOBUILD) -ldflags '-s -w' -o $(BIN)/threegate-init ./cmd/threegate-init
	$(GOBUILD) -ldflags '-s -w' -o $(BIN)/threegate-payload ./cmd/threegate-payload
	$(GOBUILD) -buildvcs=false -ldflags '-s -w' -o $(BIN)/threegate-tools ./cmd/threegate-tools

setup: ## install what this machine lacks (containerd, runc, npm), as root
	@deploy/setup

images: setup build ## build the language images and the Monty image into build/images
	@THREEGATE='$(abspath $(BIN))/threegate' THREEGATE_TOOLS='$(abspath $(BIN))/threegate-tools' deploy/images/build $(IMAGES)

tools: images ## put the bare monty interpreter, which tests compare with, into bin/
	@[ -x $(BIN)/monty ] || { $(BIN)/threegate image export monty --images $(IMAGES) | tar -xO usr/bin/monty >$(BIN)/.monty && chmod 0755 $(BIN)/.monty && mv $(BIN)/.monty $(BIN)/monty; }

mcp-clients: setup ## clients of the Model Context Protocol that others wrote, for the tests of both MCP servers, into build/mcp
	@deploy/mcp/install

ast-tools: setup ## ast-grep, Node.js and language servers, which the ast tools run, for their tests, into build/ast
	@deploy/ast/install

release: images ## packages, their parts lists, an OCI image and checksums into build/release
	@deploy/package/build build/release $(IMAGES)

vm: release ## boot a Debian under emulation, install the packages, use them, pull the plug; LONG=1 does more
	@deploy/vm/run $(if $(LONG),--long)

demo: images ## the whole gate at work: good requests of both backends, bad ones, results and quarantine
	@deploy/demo/run

bench: images ## measure latency at rest and the sustained rate, and compare them with other ways to run a program (GOJUDGE names go-judge)
	go -C cmd/threegate-bench build -o $(abspath $(BIN))/threegate-bench
	$(BIN)/threegate-bench --images $(IMAGES) $(BENCHFLAGS)

test: tools mcp-clients ast-tools fuzz ## all tests, also those on real containers, and a short run of each fuzz target
	$(GOTEST) ./...
	go -C deploy/filters/onnx test ./...

test-pure: ast-tools ## the tests that need no container
	$(GOTEST) ./schemas/... ./validate/... ./spool/... ./quarantine/... ./toolruntime/... ./cmd/threegate-tools ./gate/config/... ./gate/ledger/...

escape: tools ## hostile programs in every language, what came of each, and the limits table
	$(GOTEST) -count=1 -v -run 'Escape|LimitsTable' ./executors/container ./gate/e2e

proof: images ## what is signed is checked by programs that others wrote; builds and installs them into build/proof
	@deploy/proof/install
	$(GOTEST) -count=1 -v -tags proof -run 'ByOthers|Tessera|Witness|Stranger' ./deploy/proof ./gate ./gate/e2e

browser: ## in a real Chromium what is delivered runs no script, and the desk is safe and accessible; installs both
	@deploy/browser/install
	$(GOTEST) -count=1 -v -tags browser -run '^Test(NothingDeliveredRuns|DeskInABrowser)$$' ./deploy/browser ./cmd/threegate

# Not under the race detector: threegate-init, which is never built with cgo and
# can't give up capabilities with it; the end-to-end tests, whose programs are
# processes of their own; the rules, which are arithmetic without goroutines.
# RACESKIP: tests that go through every byte or every pair of faults of a node in one goroutine, those that try hundreds
# of texts against the rules, those of long backlogs, and those that wait for programs.
RACESKIP := ^(TestRecoveryCanFailToo|TestLintIsTheGate|TestApprovedIsAdmitted|TestABacklogIsTakenInAtConstantCost|TestCosign|TestOrdersInEachChannel|TestSentences|TestEveryChangeOfASealedFileIsNamed|TestEveryByteOfToolCallsCounts|TestADamagedLedgerHidesNothing|TestChangedOrdersAreNamed|TestRenameInRealRepositories|TestExternal|TestRenameC|TestRenameTypeScript)$$
NORACE := /cmd/threegate-init$$|/gate/e2e$$|/deploy/mcp$$|/validate

accuracy: ## how many forbidden and harmless documents each rule refuses; fails below the committed figures
	go test ./validate/accuracy -run '^TestAccuracy$$' -count=1 -v

REAL := TestInjections|TestLiterals|TestDocumentsAreTextsOfTheirOwn|TestReadsPackedFiles|TestComments|TestChunks|TestCatalogue|TestCatalogueOfDamagedFiles|TestPrograms|TestShare|TestHarmless
accuracy-real: ## the rules on harmless text of this machine and on public sets of injections (docs/accuracy.md); LOOK=help lists findings, UPDATE=1 writes the figures of explain
	go test ./validate/accuracy -tags real -run '^($(REAL))$$' -count=1 -v -timeout 60m $(if $(LOOK),-look '$(LOOK)') $(if $(KEEP),-keep '$(abspath $(KEEP))') $(if $(UPDATE),-update)

fuzz: ## every fuzz target, FUZZ=2000x inputs each, one after the other; FUZZ=5m for a long run
	@deploy/fuzz $(or $(FUZZ),2000x)

oracles: setup ## the Tool Runtime beside git and commitlint, on GIT_SOURCE (git's source), REPLAY_REPO and COMMIT_REPOS (repositories)
	@test -n "$(GIT_SOURCE)" && test -n "$(REPLAY_REPO)" && test -n "$(COMMIT_REPOS)" || \
		{ echo "say which: make oracles GIT_SOURCE=../git REPLAY_REPO=../git COMMIT_REPOS='../core ../vite'"; exit 2; }
	npm install --silent --no-audit --no-fund --prefix build/commitlint @commitlint/cli@20.5.3 @commitlint/config-conventional@20.5.3
	GIT_SOURCE='$(abspath $(GIT_SOURCE))' REPLAY_REPO='$(abspath $(REPLAY_REPO))' \
		go test ./toolruntime/workspace -tags oracles -count=1 -v -timeout 4h -patch.cases 100000
	COMMIT_REPOS='$(abspath $(COMMIT_REPOS))' COMMITLINT='$(abspath build/commitlint)' \
		go test ./toolruntime/git -tags oracles -count=1 -v -timeout 4h -run 'TestLikeGit|TestCommitlint' -git.operations 800

toolchains: setup build ## patches in Go, Rust and JavaScript judged again on a real node, hostile ones too; builds the images
	THREEGATE='$(abspath $(BIN))/threegate' THREEGATE_TOOLS='$(abspath $(BIN))/threegate-tools' \
		deploy/images/build --recipes deploy/images/examples build/toolchains tools-go tools-rust tools-node tools-c
	THREEGATE_IMAGES='$(abspath build/toolchains)' $(GOTEST) ./gate/e2e -tags toolchains -run '^TestToolchain' -count=1 -v

tools-real: images ## plans on checkouts of others through a real node, and verdicts of their test suites: REAL (lines LANGUAGE FOLDER COMMAND), SUITES (folders)
	THREEGATE_REAL='$(REAL)' $(GOTEST) ./gate/e2e -tags toolsreal -run '^TestRealRepositories$$' -count=1 -v
	THREEGATE_SUITES='$(SUITES)' $(GOTEST) ./toolruntime/toolchain -tags toolsreal -run '^TestSuites$$' -count=1 -v

bench-tools: images ## calls of threegate-tools beside the same by plain programs, in a sandbox
	THREEGATE_TOOL_TIMES='1000 1000 100' go test ./gate/e2e -run '^TestToolTimes$$' -count=1 -v

bench-rules: ## what the checks of documents of three sizes cost, and of the slowest that are known
	go test ./validate -run '^$$' -bench BenchmarkValidate -benchtime 2s -count=1
	go test ./validate -run '^$$' -bench BenchmarkSlowest -benchtime 1x -count=1

gitleaks-rules: ## take over the rules of another version of gitleaks: make gitleaks-rules VERSION=v8.31.0
	@test -n "$(VERSION)" || { echo "say which: make gitleaks-rules VERSION=v8.30.1"; exit 2; }
	deploy/gitleaks-rules $(VERSION)
	$(MAKE) accuracy

escape-gvisor: tools ## the attempts of all programs under gVisor (apt-get install runsc)
	$(GOTEST) -count=1 -v -tags gvisor -run EscapeGVisor ./executors/container ./gate/e2e

race: tools ast-tools ## the tests of packages that share memory, under the race detector
	CGO_ENABLED=1 $(GOTEST) -race -skip '$(RACESKIP)' $$(go list ./... | grep -vE '$(NORACE)')

crash: ## every step of the gate goes wrong in every way: prints the matrix; LONG=1 injects all faults
	go test ./gate -run TestCrashMatrix -count=1 -v -timeout 4h $(if $(LONG),-crash.long,-crash.table)

kills: images ## SIGKILL the real gate, its containerd and shims at random: KILLS=1000, at most KILLS_FOR=60m
	THREEGATE_KILLS=$(or $(KILLS),100) THREEGATE_KILLS_FOR=$(KILLS_FOR) go test ./gate/e2e -run TestKilledAtRandom -count=1 -v -timeout 24h

check: ## gofmt, vet, staticcheck, size and complexity of the code, go mod tidy, generated files
	@deploy/check

generate: ## write the Go code of executors/monty/wire/monty.proto anew
	go generate ./executors/monty/wire

docs: build ## write man pages, completions, the rule pages and the tools' contracts anew
	$(BIN)/threegate docs --man deploy/man --completions deploy/completions --rules docs/rules
	$(BIN)/threegate-tools schema --markdown >docs/tools.md

clean: ## remove what was built, but not the images
	rm -rf $(BIN) build/demo

distclean: ## remove everything that was built
	rm -rf $(BIN) build
