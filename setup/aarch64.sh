#!/usr/bin/env bash
# The stressors on aarch64, and their system calls: built for it, and their tests run under qemu-user.
#
# Streams are code generated at run time, so a build alone proves little. An emulator's speed means nothing: the cost
# of
# a stressor on a real core is not tested here. Exit status 3: impossible here; standard error says why.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
TARGET=aarch64-unknown-linux-musl # static, and linked by Rust's own linker: needs no cross compiler and no foreign libc
cd "$ROOT"

lacking() {
  printf 'setup: %s\n' "$*" >&2
  exit 3
}
library() { [ -d "$(rustc --print target-libdir --target "$TARGET" 2>/dev/null)" ]; }

have qemu-aarch64 || lacking "qemu-aarch64 is not installed: apt-get install qemu-user"
if ! library && have rustup; then
  rustup target add "$TARGET" >&2 || true # reported below
fi
library || lacking "this Rust has no library for $TARGET: rustup target add $TARGET"

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=qemu-aarch64
tests() { cargo test --release --locked --quiet --target "$TARGET" --lib "$@"; }
tests -p hindmost-stressors
# Without socket diagnostics and ethtool(8)'s calls, which the emulator does not support.
tests -p hindmost-sys -- this_thread:: poll:: socket::
