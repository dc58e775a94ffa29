#!/usr/bin/env bash
# make test: every ring but the nightly one, engine first. Both runners always run, so that one failure does
# not hide another; the last lines are their own.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
failed=()
HINDMOST_SKIPS=$(mktemp)
export HINDMOST_SKIPS
trap 'rm -f "$HINDMOST_SKIPS"' EXIT

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

# What measures nothing runs in two halves beside each other; what measures, alone.
if [ $# = 0 ]; then
  begun=$SECONDS
  second=$(mktemp)
  setup/run python -m pytest -m "not nightly" tests/stats tests/golden tests/property python/hindmost benches/peers >"$second" 2>&1 &
  setup/run python -m pytest -m "not nightly" tests/unit -p no:cacheprovider || failed+=("pytest tests/unit")
  wait $! || failed+=("pytest, rings without servers")
  cat "$second"
  rm -f "$second"
  say "pytest, what measures nothing: done in $((SECONDS - begun)) s"
  set -- tests/servers
fi
setup/run python -m pytest -m "not nightly" "$@" || failed+=(pytest)

setup/run python setup/skips.py "$HINDMOST_SKIPS" >&2 || failed+=("unexpected skips")

if [ ${#failed[@]} -gt 0 ]; then
  say "failed: ${failed[*]}"
  exit 1
fi
