#!/usr/bin/env bash
# The slow ring, whole or a slice of it: setup/nightly.sh [K/N]
#
# A slice has every N-th piece from the K-th on, and of pytest's slow tests those that tests/conftest.py assigns to
# it: 0/10 to 9/10 are all of it. What is fuzzed for ten minutes in the whole ring has two in a slice.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
slice=${1:-0/1}
export OPENBLAS_NUM_THREADS=1 # small problems: its threads wait for each other, spinning
[[ $slice =~ ^([0-9]+)/([1-9][0-9]*)$ ]] || die "usage: setup/nightly.sh [K/N]"
k=${BASH_REMATCH[1]} n=${BASH_REMATCH[2]}
((k < n)) || die "$slice: there are the slices 0 to $((n - 1))"
seconds=$([ "$n" = 1 ] && echo 600 || echo 120)
seed=${HINDMOST_SEED:-$(date +%s)}
say "slow ring: slice $slice, seed of the properties $seed; again: HINDMOST_SEED=$seed setup/nightly.sh $slice"

fuzz() { setup/run setup/fuzz.sh "$seconds" "$@"; }
originals() {
  setup/system.sh want g++ xapian-config=libxapian-dev
  setup/originals.sh build && setup/originals.sh test && pytest -m originals tests
}
pytest() { setup/run python -m pytest --timeout 1800 "$@"; }
# A slice may hold no test of a folder, which pytest tells by its exit code 5.
slow() { pytest -m "nightly and not originals" --slice "$slice" "$@" || [ $? = 5 ]; }

# A protocol in a crate of its own, as users write them.
own_protocol() { setup/run cargo test --release --manifest-path examples/own-protocol/Cargo.toml --target-dir target; }

# mine NAME...: those of this slice.
mine() {
  local at
  for ((at = k + 1; at <= $#; at += n)); do printf '%s\n' "${!at}"; done
}

mapfile -t pieces < <(mine originals own_protocol)
# What is fuzzed is fuzzed side by side.
mapfile -t targets < <(basename -s .rs -a fuzz/fuzz_targets/*.rs)
mapfile -t targets < <(mine "${targets[@]}")
[ ${#targets[@]} = 0 ] || pieces+=("fuzz ${targets[*]}")

failed=()
setup/system.sh want g++
for piece in "${pieces[@]}"; do
  begun=$SECONDS
  $piece || failed+=("$piece")
  say "slow ring: $piece: done in $((SECONDS - begun)) s"
done
begun=$SECONDS
pytest -n auto --dist worksteal --hypothesis-seed "$seed" tests/property || failed+=("properties, seed $seed")
# Simulations measure nothing: on all processors.
slow -n auto --dist worksteal tests/stats || failed+=("pytest -m nightly tests/stats, slice $slice")
say "slow ring: simulations: done in $((SECONDS - begun)) s"
begun=$SECONDS
slow --ignore tests/stats tests || failed+=("pytest -m nightly tests, slice $slice")
say "slow ring: what starts servers: done in $((SECONDS - begun)) s"

[ ${#failed[@]} = 0 ] || say "slow ring: failed: $(printf '%s; ' "${failed[@]}")"
[ ${#failed[@]} = 0 ]
