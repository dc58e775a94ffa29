#!/usr/bin/env bash
# make nightly: coverage simulations, soaks, programs that clones must reproduce, virtual machines, fuzzing. A failure
# does not stop the rest.
#
#   FUZZ_SECONDS=600    per target
#   HINDMOST_SEED=...   seed of the properties
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
export OPENBLAS_NUM_THREADS=1 # the problems are small, and its threads would spin
unset MAKEFLAGS MFLAGS PYTHONDONTWRITEBYTECODE
seed=${HINDMOST_SEED:-$(date +%s)}
say "nightly: seed of the properties: $seed"
failed=()

# suite NAME COMMAND...: runs it and prints its duration.
suite() {
  local name=$1 begun=$SECONDS status=ok
  shift
  "$@" || { failed+=("$name") && status=FAILED; }
  say "nightly: $name: $status, $((SECONDS - begun)) s"
}
pytest() { setup/run python -m pytest --timeout 1800 "$@"; }
originals() { setup/originals.sh build && setup/originals.sh test && pytest -m originals tests; }
# A protocol in a separate crate, as users write them.
own_protocol() { setup/run cargo test --release --manifest-path examples/own-protocol/Cargo.toml --target-dir target; }

# Other kernels and topologies; 77: there is no QEMU or kernel here.
machines() { setup/machines.sh || [ $? = 77 ]; }

setup/system.sh want g++ xapian-config=libxapian-dev
suite "properties" pytest -n auto --dist worksteal --hypothesis-seed "$seed" tests/property
# Simulations measure nothing: use all CPUs.
suite "simulations" pytest -n auto --dist worksteal -m "nightly and not originals" tests/stats tests/unit
suite "servers" pytest -m "nightly and not originals" --ignore tests/stats --ignore tests/unit --ignore tests/accuracy tests
suite "originals" originals
suite "custom protocol" own_protocol
suite "machines" machines
suite "fuzzing" setup/run setup/fuzz.sh "${FUZZ_SECONDS:-600}"

[ ${#failed[@]} = 0 ] || say "nightly: failed: $(printf '%s; ' "${failed[@]}")"
[ ${#failed[@]} = 0 ]
