#!/usr/bin/env bash
# Builds and tests originals/, in its own folder below target/:
#
#   setup/originals.sh build     into originals/bin; without `search` if Xapian's headers or a C++ compiler are missing
#   setup/originals.sh test      its unit tests
#   setup/originals.sh lint      clippy
set -euo pipefail
. "$(dirname "$0")/lib.sh"
rust=$(find_rust) || die "no Rust >= $RUST_LEAST" "setup/system.sh need"
export PATH="$rust:$PATH"
cd "$ROOT/originals"
place=${CARGO_TARGET_DIR:-$ROOT/target}/originals
features=()
if ! have xapian-config || ! have "${CXX:-c++}"; then
  features=(--no-default-features)
  say "originals: without search: apt-get install g++ libxapian-dev"
fi
mode=(--release --locked --target-dir "$place" "${features[@]}")
case ${1:-} in
build)
  quietly "building the originals" cargo build "${mode[@]}"
  mkdir -p bin
  cp -f "$place/release/originals" bin/originals.new
  mv -f bin/originals.new bin/originals # works even while an older one runs
  ;;
test) cargo test --quiet "${mode[@]}" ;;
lint) cargo clippy --quiet --all-targets "${mode[@]}" -- -D warnings ;;
*) die "usage: setup/originals.sh build | test | lint" ;;
esac
