#!/usr/bin/env bash
# make test: every ring that needs neither a calm host nor patience. setup/test.sh [PYTEST'S ARGUMENTS...]
#
# The tests of Rust are built (as the engine was, so nothing twice) and run beside those of Python that start no
# servers; then come those that do. All rings run whatever fails; the register of skips comes last.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
failed=()
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
HINDMOST_SKIPS=$work/skips
export HINDMOST_SKIPS
PYTEST=(setup/run python -m pytest -m "not nightly and not originals")

rust() {
  local begun=$SECONDS status=0
  setup/run cargo test --release --workspace --locked --quiet || status=1
  # Ignored elsewhere for want of Python's hdrhistogram; here it is in .venv.
  setup/run cargo test --release -p hindmost-histogram --test foreign --locked --quiet -- --ignored || status=1
  say "cargo test: done in $((SECONDS - begun)) s"
  return "$status"
}

if [ $# = 0 ]; then
  begun=$SECONDS
  rust >"$work/rust" 2>&1 &
  beside=$!
  "${PYTEST[@]}" -n 2 --dist worksteal tests/unit tests/stats tests/golden tests/property python/hindmost \
    benches/peers || failed+=("pytest, what starts no servers")
  say "pytest, what starts no servers: done in $((SECONDS - begun)) s"
  wait "$beside" || failed+=("cargo test")
  cat "$work/rust"
  # No claim needs a processor of its own; what shares a study or a setting of the host is in one group.
  set -- -n 2 --dist loadgroup tests/servers
fi
begun=$SECONDS
"${PYTEST[@]}" "$@" || failed+=("pytest $*")
say "pytest $*: done in $((SECONDS - begun)) s"

setup/run python setup/skips.py "$HINDMOST_SKIPS" >&2 || failed+=("unexpected skips")
[ ${#failed[@]} = 0 ] || say "failed: $(printf '%s; ' "${failed[@]}")"
[ ${#failed[@]} = 0 ]
