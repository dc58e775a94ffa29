# Shared by the scripts of this folder. Sourced, never executed. shellcheck shell=bash
#
# Everything here writes to standard error, in lines that start with "setup:".

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
STAMPS=$ROOT/.stamps
RUST_LEAST=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$ROOT/Cargo.toml" | head -n 1)
PYTHON_LEAST=3.11
export PATH="$PATH:/usr/sbin:/sbin" # servers are there, and not every user's PATH has it

say() { printf 'setup: %s\n' "$*" >&2; }

# Prints what is missing and the command that installs it, and exits.
die() {
  printf 'setup: error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf 'setup: run this, then make again: %s\n' "$2" >&2
  exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# at_least FOUND LEAST: whether version FOUND is LEAST or newer.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# quietly WHAT COMMAND...: runs the command; shows its output only if it fails.
quietly() {
  local what=$1 log begun=$SECONDS
  shift
  mkdir -p "$STAMPS"
  log=$STAMPS/${what//[^a-zA-Z0-9]/-}.log
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 60 "$log" >&2
    die "$what failed; its output is in $log"
  fi
  say "$what: done in $((SECONDS - begun)) s"
}

# Prints "PATH VERSION" of the first Python that is new enough; with the argument `venv`, of the first that can
# also create virtual environments.
find_python() {
  local name path version
  for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11; do
    path=$(command -v "$name" 2>/dev/null) || continue
    version=$("$path" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
    at_least "$version" "$PYTHON_LEAST" || continue
    if [ "${1:-}" = venv ]; then
      "$path" -c 'import ensurepip, venv' 2>/dev/null || continue
    fi
    printf '%s %s\n' "$path" "$version"
    return 0
  done
  return 1
}

# Prints the folder of the first cargo whose rustc is new enough.
find_rust() {
  local cargo folder version
  while read -r cargo; do
    [ -x "$cargo" ] || continue
    folder=$(dirname "$cargo")
    [ -x "$folder/rustc" ] || continue
    # Run inside the project, so that rustup uses the toolchain of the project.
    version=$(cd "$ROOT" && "$folder/rustc" --version 2>/dev/null | cut -d ' ' -f 2) || continue
    at_least "${version%%-*}" "$RUST_LEAST" || continue
    printf '%s\n' "$folder"
    return 0
  done < <(
    command -v cargo || true
    printf '%s\n' "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" /usr/bin/cargo /usr/local/bin/cargo
    ls -d /usr/lib/rust-*/bin/cargo 2>/dev/null | sort -rV
  )
  return 1
}
