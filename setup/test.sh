#!/usr/bin/env bash
# make test: every ring but the nightly one, engine first. Both runners always run, so that one failure does
# not hide another; the last lines are their own.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
failed=()

begun=$SECONDS
setup/run ruff check --quiet . || failed+=("ruff check")
setup/run mypy --no-error-summary || failed+=(mypy)
say "lint: done in $((SECONDS - begun)) s"

begun=$SECONDS
setup/run cargo test --workspace --locked --quiet || failed+=("cargo test")
# Ignored elsewhere for want of Python's hdrhistogram; here it is in .venv.
setup/run cargo test -p hindmost-histogram --test foreign --locked --quiet -- --ignored ||
  failed+=("cargo test, foreign reader")
setup/originals.sh test || failed+=("cargo test, originals")
say "cargo test: done in $((SECONDS - begun)) s"

begun=$SECONDS
setup/run setup/fuzz.sh 3 || failed+=(fuzz)
say "fuzz: done in $((SECONDS - begun)) s"

setup/run python -m pytest -m "not nightly" "$@" || failed+=(pytest)

if [ ${#failed[@]} -gt 0 ]; then
  say "failed: ${failed[*]}"
  exit 1
fi
