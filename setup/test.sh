#!/usr/bin/env bash
# make test: all tests that need neither a quiet host nor much time. setup/test.sh [PYTEST'S ARGUMENTS...]
#
# Two suites run at a time. Rust tests and then tests with servers mostly wait; tests without servers compute, at a
# lower priority. A failure does not stop the rest.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
export OPENBLAS_NUM_THREADS=1 # the problems are small, and its threads would spin
unset MAKEFLAGS MFLAGS        # cargo would mistake make's flags for its own job server, and warn
unset PYTHONDONTWRITEBYTECODE # hundreds of interpreters start, and each would compile everything
PYTEST=(setup/run python -m pytest)
LATER=(nice -n 1) # four fifths of the other suite's share: both end at about the same time on a busy host
failed=()
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

rust() {
  local status=0
  "${LATER[@]}" setup/run cargo test --release --workspace --locked --quiet --no-run || return
  # Tests that load servers mostly wait.
  RUST_TEST_THREADS=8 setup/run cargo test --release --workspace --locked --quiet --no-fail-fast || status=1
  # These are ignored elsewhere because they need Python's hdrhistogram, which is in .venv here. Not with -p: one
  # crate alone gives its dependencies other features, and cargo would recompile them.
  setup/run cargo test --release --workspace --test histogram --locked --quiet -- --ignored foreign || status=1
  "${LATER[@]}" setup/run setup/aarch64.sh || status=1
  return "$status"
}

servers() { "${PYTEST[@]}" -n 5 --dist loadfile tests/servers; }

computed() {
  "${LATER[@]}" "${PYTEST[@]}" -n 3 --dist worksteal tests/unit tests/security tests/stats tests/golden tests/property \
    python/hindmost benches/peers reproduce
}

# suite NAME COMMAND...: runs it and prints its duration.
suite() {
  local name=$1 begun=$SECONDS status=0
  shift
  "$@" || status=$?
  say "$name: done in $((SECONDS - begun)) s"
  return "$status"
}

if [ $# = 0 ]; then
  both() {
    local status=0
    suite "cargo test" rust >"$work/rust" 2>&1 || status=1
    suite "pytest with servers" servers >"$work/servers" 2>&1 || status=$((status + 2))
    return "$status"
  }
  both &
  pid=$!
  suite "pytest without servers" computed || failed+=("pytest without servers")
  wait "$pid"
  status=$?
  cat "$work/rust" "$work/servers"
  ((status & 1)) && failed+=("cargo test")
  ((status & 2)) && failed+=("pytest with servers")
else
  suite "pytest $*" "${PYTEST[@]}" "$@" || failed+=("pytest $*")
fi

[ ${#failed[@]} = 0 ] || say "failed: $(printf '%s; ' "${failed[@]}")"
[ ${#failed[@]} = 0 ]
