#!/usr/bin/env bash
# Builds the probes of crates/trace from their C sources: setup/bpf.sh build | check
#
# The object is in the repository, so that users need no compiler for it: `build` rebuilds it after a change, `check`
# verifies that it matches the sources. Exit status 3: impossible here; standard error says why.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
CLANG=14 # another version generates different code, which cannot be compared

make_object() {
  (
    cd "$ROOT/crates/trace/bpf"
    # The object contains paths: use relative ones, so that it does not depend on the folder.
    "clang-$CLANG" -target bpf -mcpu=v3 -O2 -g -fdebug-compilation-dir=. -fno-ident -Wall -Werror -Wno-unused-function \
      -I"/usr/include/$(uname -m)-linux-gnu" -c stages.bpf.c -o "$1"
    "llvm-strip-$CLANG" -g "$1"
  )
}

lacking() {
  printf 'setup: %s is not here; to have it: apt-get install clang-%s llvm-%s libbpf-dev\n' "$1" "$CLANG" "$CLANG" >&2
  exit 3
}
have "clang-$CLANG" || lacking "clang-$CLANG"
have "llvm-strip-$CLANG" || lacking "llvm-strip-$CLANG"
[ -e /usr/include/bpf/bpf_helpers.h ] || lacking libbpf-dev

case ${1:-} in
build) make_object stages.bpf.o ;;
check)
  made=$(mktemp)
  trap 'rm -f "$made"' EXIT
  make_object "$made"
  cmp "$made" "$ROOT/crates/trace/bpf/stages.bpf.o" >&2 ||
    die "crates/trace/bpf/stages.bpf.o does not match its sources" "setup/bpf.sh build"
  ;;
*) die "usage: setup/bpf.sh build | check" ;;
esac
