#!/usr/bin/env bash
# Fuzzes every target, or the named ones: setup/fuzz.sh SECONDS [TARGET...]
#
# Any stable Rust works: the flags are those of `cargo fuzz` without a sanitizer. libFuzzer is compiled from the
# sources
# of the crate libfuzzer-sys, which needs a C++ compiler. Without one, the targets replay their seeds and blind
# mutations of them, and a message says so.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
seconds=${1:?usage: setup/fuzz.sh SECONDS [TARGET...]}
shift
cd "$ROOT/fuzz"
if [ $# = 0 ]; then
  read -ra targets <<<"$(basename -s .rs -a fuzz_targets/*.rs | tr '\n' ' ')"
else
  targets=("$@")
fi

# The run is too short for an optimised build to pay off.
if [ "$seconds" -lt 60 ]; then profile=quick; else profile=release; fi
host=$(rustc -vV | sed -n 's/^host: //p')
place=${CARGO_TARGET_DIR:-$ROOT/target}/fuzz
flags="--cfg fuzzing"
features=()
if have "${CXX:-c++}"; then
  engine=libFuzzer
  for flag in level=4 inline-8bit-counters pc-table trace-compares; do
    flags+=" -Cllvm-args=-sanitizer-coverage-$flag"
  done
  flags+=" -Cpasses=sancov-module"
else
  engine=replay
  features=(--no-default-features)
  say "fuzz: no C++ compiler, hence no libFuzzer: seeds and blind mutations only; apt-get install g++"
fi
# With --target, build scripts and macros are built without these flags.
RUSTFLAGS=$flags quietly "building the fuzz targets ($engine)" \
  cargo build --profile "$profile" --target "$host" --target-dir "$place" "${features[@]}" "${targets[@]/#/--bin=}"

# Findings include a hang of 10 s and memory: here the process's, in src/limits.rs Rust's allocations.
one() {
  local target=$1 log=$place/$1.log options=()
  mkdir -p "corpus/$target" "artifacts/$target"
  [ ! -f "dictionaries/$target.dict" ] || options=("-dict=dictionaries/$target.dict")
  if ! timeout --kill-after 10 $((seconds + 60)) "$place/$host/$profile/$target" "${options[@]}" \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=512 -max_len="$(most "$target")" -print_final_stats=1 \
    "-artifact_prefix=artifacts/$target/" "corpus/$target" "seeds/$target" >"$log" 2>&1 </dev/null; then
    grep -m 1 -A 3 'panicked at\|bytes requested while\|ERROR: libFuzzer' "$log" >&2 || tail -n 5 "$log" >&2
    say "fuzz: $target: a finding; the input is in fuzz/artifacts/$target, the output in $log"
    say "fuzz: to reproduce it: $place/$host/$profile/$target fuzz/artifacts/$target/NAME"
    return 1
  fi
  say "fuzz: $target: $(figures "$log")"
}

# HTTP heads may have 64 KiB, and the script of a server holds several replies.
most() { case $1 in replies_http) echo 70000 ;; *) echo 8192 ;; esac }

figures() {
  if [ "$engine" = replay ]; then
    tail -n 1 "$1"
  else
    sed -n 's/^stat::number_of_executed_units: *\([0-9]*\)/\1 runs/p' "$1" | tr '\n' ' '
    sed -n 's/.*cov: \([0-9]*\) ft: \([0-9]*\) corp: \([0-9]*\).*/\1 edges, \2 features, corpus of \3/p' "$1" |
      tail -n 1
  fi
}

export -f one most figures say
export seconds place host profile engine
failed=0
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'one {}' || failed=1
exit "$failed"
