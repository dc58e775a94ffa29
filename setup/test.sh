#!/usr/bin/env bash
# make test: every ring that needs neither a calm host nor patience. setup/test.sh [PYTEST'S ARGUMENTS...]
#
# Two rings at a time. Tests of Rust and then whole programs on real servers wait for most of their time; what starts no
# servers only computes, at a lower priority, and takes the processors whenever nobody else does. So does the
# compilation of Rust's tests (built as the engine was, so nothing twice), and no load is tested beside it. All rings
# run whatever fails, and what failed is asked once more (again.sh); the register of skips comes last.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/again.sh"
cd "$ROOT" || exit 1
failed=()
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
HINDMOST_SKIPS=$work/skips
export HINDMOST_SKIPS
export OPENBLAS_NUM_THREADS=1 # small problems: its threads wait for each other, spinning
unset MAKEFLAGS MFLAGS        # cargo takes make's for a job server of its own, and warns
unset PYTHONDONTWRITEBYTECODE # some hundred interpreters are started, and would compile all of it each
PYTEST=(setup/run python -m pytest -m "not nightly and not originals")
LATER=(nice -n 1) # four fifths of a busy neighbour's share: both rings end about together on a busy host

rust() {
  local status=0
  "${LATER[@]}" setup/run cargo test --release --workspace --locked --quiet --no-run || return
  # Those that load servers wait for most of their time.
  RUST_TEST_THREADS=8 asked_by_cargo --workspace || status=1
  # Ignored elsewhere for want of Python's hdrhistogram; here it is in .venv. Of one crate alone (-p) what it depends on
  # would have other features, and be compiled anew.
  setup/run cargo test --release --workspace --test foreign --locked --quiet -- --ignored || status=1
  aarch64 || status=1
  return "$status"
}

# Where it cannot be done, why stands in the register of skips.
aarch64() {
  local status=0
  "${LATER[@]}" setup/run setup/aarch64.sh 2>"$work/aarch64" || status=$?
  cat "$work/aarch64" >&2
  [ "$status" = 3 ] || return "$status"
  printf 'setup/aarch64.sh::rulers\t%s\n' "$(tail -n 1 "$work/aarch64")" >>"$HINDMOST_SKIPS"
}

# No claim needs a processor of its own; what shares a study or a setting of the host is in one group.
servers() { asked_by_pytest servers -n 7 --dist loadgroup tests/servers; }

computed() {
  local PYTEST=("${LATER[@]}" "${PYTEST[@]}")
  asked_by_pytest computed -n 3 --dist worksteal tests/unit tests/stats tests/golden tests/property \
    python/hindmost benches/peers
}

# ring NAME COMMAND...: tells how long it took.
ring() {
  local name=$1 begun=$SECONDS status=0
  shift
  "$@" || status=$?
  say "$name: done in $((SECONDS - begun)) s"
  return "$status"
}

if [ $# = 0 ]; then
  both() {
    local status=0
    ring "cargo test" rust >"$work/rust" 2>&1 || status=1
    ring "pytest, what starts servers" servers >"$work/servers" 2>&1 || status=$((status + 2))
    return "$status"
  }
  both &
  pid=$!
  ring "pytest, what starts no servers" computed || failed+=("pytest, what starts no servers")
  wait "$pid"
  status=$?
  cat "$work/rust" "$work/servers"
  ((status & 1)) && failed+=("cargo test")
  ((status & 2)) && failed+=("pytest, what starts servers")
else
  ring "pytest $*" "${PYTEST[@]}" "$@" || failed+=("pytest $*")
fi

tell_unsteady
setup/run python setup/skips.py "$HINDMOST_SKIPS" >&2 || failed+=("unexpected skips")
[ ${#failed[@]} = 0 ] || say "failed: $(printf '%s; ' "${failed[@]}")"
[ ${#failed[@]} = 0 ]
