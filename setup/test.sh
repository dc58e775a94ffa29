#!/usr/bin/env bash
# make test: all tests that need neither a quiet host nor much time. setup/test.sh [PYTEST'S ARGUMENTS...]
#
# Two suites run at a time. Tests of Rust and then tests with servers wait for most of their time; what starts no server
# computes, at a lower priority. Everything runs, whatever fails.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
export OPENBLAS_NUM_THREADS=1 # small problems: its threads wait for each other, spinning
unset MAKEFLAGS MFLAGS        # cargo takes make's for a job server of its own, and warns
unset PYTHONDONTWRITEBYTECODE # some hundred interpreters are started, and would compile all of it each
PYTEST=(setup/run python -m pytest)
LATER=(nice -n 1) # four fifths of a busy neighbour's share: both halves end at about the same time on a busy host
failed=()
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

rust() {
  local status=0
  "${LATER[@]}" setup/run cargo test --release --workspace --locked --quiet --no-run || return
  # Those that load servers wait for most of their time.
  RUST_TEST_THREADS=8 setup/run cargo test --release --workspace --locked --quiet --no-fail-fast || status=1
  # Ignored elsewhere for want of Python's hdrhistogram; here it is in .venv. Of one crate alone (-p) what it depends on
  # would have other features, and be compiled anew.
  setup/run cargo test --release --workspace --test histogram --locked --quiet -- --ignored foreign || status=1
  "${LATER[@]}" setup/run setup/aarch64.sh || status=1
  return "$status"
}

servers() { "${PYTEST[@]}" -n 5 --dist loadfile tests/servers; }

computed() {
  "${LATER[@]}" "${PYTEST[@]}" -n 3 --dist worksteal tests/unit tests/security tests/stats tests/golden tests/property \
    python/hindmost benches/peers reproduce
}

# suite NAME COMMAND...: runs it and tells how long it took.
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
