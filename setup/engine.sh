#!/usr/bin/env bash
# Builds the Rust engine and installs it, with the Python package, into .venv (editable).
set -euo pipefail
. "$(dirname "$0")/lib.sh"
say "building the engine; the first time takes a few minutes"
quietly "building the engine" "$ROOT/setup/run" maturin develop --release --locked
