# User-facing commands. `make demo` and `make test` set up everything they need; later calls reuse it.
# The scripts in setup/ do the work; this file has the dependencies only.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Python packages are fetched while the engine is compiled. Recipes do not inherit this: cargo has its own jobs.
MAKEFLAGS += --no-builtin-rules --no-print-directory --jobs=2
unexport MAKEFLAGS

RUN := setup/run
ENGINE := Cargo.toml Cargo.lock rust-toolchain.toml pyproject.toml \
          $(shell find crates \( -name '*.rs' -o -name Cargo.toml \) -not -path '*/tests/*' -not -path '*/benches/*') \
          crates/trace/bpf/stages.bpf.o
# Built by setup/bpf.sh and kept in the repository: make's built-in rules would overwrite it with cc if a checkout
# left its source newer.
.SUFFIXES:

# A virtual environment that was moved or copied acts on its old place, so it is recreated.
ifneq ($(wildcard .venv),)
ifeq ($(shell grep -sF '$(CURDIR)/.venv' .venv/bin/activate),)
$(shell rm -rf .venv .stamps)
endif
endif

.PHONY: help demo check test tested accuracy nightly machines fuzz originals reproduce wheel dist release bench audit docs schemas golden lint format setup clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .stamps/engine ## Measure a real memcached in about two minutes; leaves demo-study/report.html
	@setup/system.sh want memcached
	@setup/demo.sh

check: .stamps/engine .stamps/dev ## Unit tests, properties, doctests, lint of changed files: under two minutes
	@setup/check.sh

test: .stamps/engine .stamps/dev tested ## All tests that need neither a quiet host nor much time
	@setup/test.sh

# Servers are installed while the engine is compiled.
SERVERS := memcached redis-server nginx apache2=apache2-bin haproxy nutcracker unbound psql=postgresql openssl tcpdump sshd=openssh-server
tested: .stamps/system
	@setup/system.sh want $(SERVERS) \
	  qemu-aarch64=qemu-user clang-14 llvm-strip-14=llvm-14 /usr/include/bpf/bpf_helpers.h=libbpf-dev

accuracy: .stamps/engine .stamps/dev ## Claims that need a quiet host: each is held, broken or undecided
	@setup/system.sh want memcached nginx tcpdump
	@setup/accuracy.sh

nightly: .stamps/engine .stamps/dev ## Coverage simulations, soaks, originals, fuzzing: hours
	@setup/system.sh want $(SERVERS)
	@setup/nightly.sh

MACHINES ?=
machines: .stamps/engine .stamps/dev ## What works on other kernels and topologies, in virtual machines; some: MACHINES='6.12-smt'
	@MACHINES='$(MACHINES)' setup/machines.sh || [ $$? = 77 ] # QEMU or a kernel is missing

FUZZ_SECONDS ?= 600
FUZZ_TARGETS ?=
fuzz: .stamps/system ## Fuzz every parser, FUZZ_SECONDS each (600); some: FUZZ_TARGETS='hlog plan'
	@setup/system.sh want g++
	@$(RUN) setup/fuzz.sh $(FUZZ_SECONDS) $(FUZZ_TARGETS)

originals: .stamps/system ## Build the real programs that clones must reproduce (originals/)
	@setup/system.sh want g++ xapian-config=libxapian-dev
	@setup/originals.sh build

PAPER ?=
reproduce: .stamps/engine ## Reproduce the figures and tables of a paper: PAPER=treadmill, variability, tailwag, smite, ...
	@test -f 'reproduce/$(PAPER)/__main__.py' || { echo 'usage: make reproduce PAPER=treadmill|variability|tailwag|tailsniping|smite|harvest' >&2; exit 2; }
	@$(RUN) python -m reproduce.$(PAPER)

wheel: .stamps/runtime ## One wheel for this machine and every Python from 3.11 on, into dist/
	@$(RUN) maturin build --profile dist --locked --quiet --out dist

dist: .stamps/system ## What a release publishes: the sources and wheels for x86-64 and aarch64, checked, into dist/
	@setup/dist.sh

VERSION ?=
release: ## Write VERSION and today's date into the tree, commit and tag
	@setup/release.sh '$(VERSION)'

bench: .stamps/engine ## Cost and precision, ours and of other load testers: half an hour of a quiet host
	@setup/system.sh want memcached unbound dnsperf psql=postgresql strace tcpdump sshd=openssh-server
	@$(RUN) cargo bench --locked --quiet -p hindmost-arrivals --bench thinning
	@$(RUN) cargo bench --locked --quiet -p hindmost-histogram --bench record
	@$(RUN) cargo bench --locked --quiet -p hindmost-simulate --bench queue
	@$(RUN) cargo bench --locked --quiet -p hindmost-synth --bench throughput
	@$(RUN) python benches/simulators.py
	@$(RUN) python benches/harvest.py
	@$(RUN) python benches/fit.py
	@$(RUN) python benches/engine.py
	@$(RUN) python benches/loops.py
	@$(RUN) python benches/calls.py
	@$(RUN) python benches/witness.py
	@$(RUN) python benches/trace.py
	@$(RUN) python benches/trace_stamps.py
	@$(RUN) python benches/quantiles.py
	@$(RUN) python -m benches.fleet
	@$(RUN) python -m benches.peers --into docs/benchmarks.md
	@$(RUN) python -m benches.peers.claims --install --into docs/benchmarks.md

audit: .stamps/runtime ## Known vulnerabilities, licences and sources of all dependencies; 3 if unknown
	@setup/audit.sh

docs: .stamps/engine .stamps/docs ## The documentation as a searchable site that works offline: dist/docs/index.html
	@setup/docs.sh

schemas: .stamps/engine ## JSON Schemas of all formats, into schemas/
	@$(RUN) python docs/schemas.py schemas

lint: .stamps/engine .stamps/dev ## ruff, mypy, rustfmt, clippy: no warnings allowed
	@setup/system.sh lint
	@$(RUN) ruff check .
	@$(RUN) ruff format --check --quiet .
	@$(RUN) mypy
	@$(RUN) cargo fmt --check
	@$(RUN) cargo clippy --release --workspace --all-targets --locked -- -D warnings
	@$(RUN) cargo fmt --check --manifest-path fuzz/Cargo.toml
	@$(RUN) cargo fmt --check --manifest-path originals/Cargo.toml
	@$(RUN) cargo fmt --check --manifest-path examples/own-protocol/Cargo.toml
	@setup/originals.sh lint
	@setup/hadoop.sh lint || [ $$? = 77 ] # Java or Maven is missing
	@RUSTFLAGS='--cfg fuzzing' $(RUN) cargo clippy --manifest-path fuzz/Cargo.toml --target-dir target/fuzz \
	  --no-default-features -- -D warnings

golden: .stamps/engine .stamps/dev ## Regenerate golden files and generated docs; read the difference before you commit it
	@$(RUN) python docs/generate.py
	@HINDMOST_REFRESH_GOLDEN=1 $(RUN) python -m pytest -q tests/golden/test_report_golden.py tests/golden/test_cli_text.py -k golden_file

format: .stamps/dev ## Format the code with rustfmt and ruff
	@$(RUN) cargo fmt
	@$(RUN) cargo fmt --manifest-path fuzz/Cargo.toml
	@$(RUN) cargo fmt --manifest-path originals/Cargo.toml
	@$(RUN) cargo fmt --manifest-path examples/own-protocol/Cargo.toml
	@$(RUN) ruff check --fix --quiet .

setup: .stamps/engine .stamps/dev ## Set up only: .venv with the engine and the development tools

clean: ## Remove everything that was built or generated, including the demo's study
	rm -rf .venv .stamps .peers target dist demo-study .pytest_cache .ruff_cache .mypy_cache .hypothesis
	rm -rf fuzz/corpus fuzz/artifacts originals/bin
	rm -f python/hindmost/_engine*.so
	find python tests benches reproduce -name __pycache__ -prune -exec rm -rf {} +

# --- dependencies ---------------------------------------------------------------------------------------

.stamps/system: setup/system.sh setup/lib.sh
	@setup/system.sh need
	@touch $@

# .venv/bin/python is a link to the system's Python: if that is gone, the link does not count.
.venv/bin/python: | .stamps/system
	@setup/venv.sh requirements.lock
	@mkdir -p .stamps && touch .stamps/runtime

.stamps/runtime: requirements.lock .venv/bin/python | .stamps/system
	@[ $@ -nt requirements.lock ] || setup/venv.sh requirements.lock
	@touch $@

.stamps/dev: requirements-dev.lock .stamps/runtime
	@setup/venv.sh requirements-dev.lock
	@touch $@

.stamps/docs: requirements-docs.lock .stamps/runtime
	@setup/venv.sh requirements-docs.lock
	@touch $@

.stamps/engine: $(ENGINE) .stamps/runtime
	@setup/engine.sh
	@touch $@
