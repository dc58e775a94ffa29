#!/usr/bin/env bash
# The rulers on aarch64, and what they ask of the kernel: built for it, and their tests run under qemu-user.
#
# Streams are code that is written at run time, so a build alone proves little. An emulator's speed says nothing: what
# a ruler costs on a real core is not tested here. Exit status 3: it cannot be done here, and standard error says why.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
TARGET=aarch64-unknown-linux-musl # static, and linked by Rust's own linker: no cross compiler, no foreign libc
cd "$ROOT"

lacking() {
  printf 'setup: %s\n' "$*" >&2
  exit 3
}
library() { [ -d "$(rustc --print target-libdir --target "$TARGET" 2>/dev/null)" ]; }

have qemu-aarch64 || lacking "qemu-aarch64 is not here; to have it: apt-get install qemu-user"
if ! library && have rustup; then
  rustup target add "$TARGET" >&2 || true # told below
fi
library || lacking "this Rust has no library for $TARGET; to have it: rustup target add $TARGET"

export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=qemu-aarch64
tests() { cargo test --release --locked --quiet --target "$TARGET" --lib "$@"; }
tests -p hindmost-rulers
# Without socket diagnostics and ethtool(8)'s calls, which the emulator does not pass on.
tests -p hindmost-sys -- this_thread:: poll:: socket::
