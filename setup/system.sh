#!/usr/bin/env bash
# What comes from the system, not from a language's own registry:
#
#   setup/system.sh need    a C linker, Python, Rust; without them nothing goes
#   setup/system.sh lint    rustfmt and clippy of the Rust that is here
#   setup/system.sh want memcached redis-server tcpdump h2load=nghttp2-client ...
#                           servers to measure, a witness, other load testers, each with its package where that has
#                           another name; a file is named by its path. Without one the demo, the tests and the
#                           benches say what they skip
#
# What is missing is installed where we are root and the system has apt; otherwise one line says what to run.
# Nothing is ever removed or replaced (--no-remove).
set -euo pipefail
. "$(dirname "$0")/lib.sh"

candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *//p' | sed 's/^[0-9]*://; s/(none)//'; }

# Debian packages that bring a Rust which is new enough, or nothing. Debian's newest stable names them
# cargo and rustc; older releases keep a newer pair for their browsers (-web), Ubuntu numbers them.
rust_packages() {
  local newest
  newest=$(apt-cache pkgnames cargo-1. 2>/dev/null | grep -E '^cargo-1\.[0-9]+$' | sort -V | tail -n 1 || true)
  for pair in "cargo rustc" "cargo-web rustc-web" "${newest:-cargo-} ${newest/#cargo/rustc}"; do
    local version
    version=$(candidate "${pair#* }")
    if [ -n "$version" ] && at_least "${version%%[!0-9.]*}" "$RUST_LEAST"; then
      echo "$pair"
      return
    fi
  done
  if [ -n "$(candidate rustup)" ]; then echo rustup; fi
}

as_root() { [ "$(id -u)" = 0 ]; }

updated=no
update() {
  [ "$updated" = yes ] && return
  updated=yes
  as_root || return 0
  say "asking the package manager what it has"
  apt-get update -qq >/dev/null 2>&1 || say "apt-get update failed; going on with the lists at hand"
}

install() {
  DEBIAN_FRONTEND=noninteractive quietly "installing $*" \
    apt-get install -y -qq --no-remove --no-install-recommends "$@"
}

need() {
  local packages=() python
  have cc || packages+=(gcc libc6-dev)
  if ! find_python venv >/dev/null; then
    if python=$(find_python); then
      packages+=("python${python#* }-venv")
    else
      packages+=(python3 python3-venv)
    fi
  fi
  if find_rust >/dev/null && [ ${#packages[@]} = 0 ]; then return; fi
  have apt-get || die "this needs cc, Python >= $PYTHON_LEAST with venv, and Rust >= $RUST_LEAST; install them"
  update
  if ! find_rust >/dev/null; then
    local rust
    rust=$(rust_packages)
    if have rustup; then
      die "rustup is here, but its Rust is older than $RUST_LEAST" "rustup update stable"
    elif [ -n "$rust" ]; then
      read -ra rust <<<"$rust"
      packages+=("${rust[@]}")
    else
      die "no Rust >= $RUST_LEAST is here, and the package manager has none; install it with rustup, then make again"
    fi
  fi
  as_root || die "missing: ${packages[*]}" "sudo apt-get update && sudo apt-get install -y ${packages[*]}"
  install "${packages[@]}"
  case " ${packages[*]} " in *" rustup "*) quietly "installing Rust with rustup" rustup default stable ;; esac
  find_rust >/dev/null || die "what was installed is older than Rust $RUST_LEAST" "rustup update stable"
  find_python venv >/dev/null || die "no Python >= $PYTHON_LEAST with venv could be installed"
}

# Debian splits what rustup has together: cargo-web goes with rust-web-clippy and rustfmt-web, cargo-1.85 with numbers.
lint() {
  local rust package suffix
  rust=$(find_rust) || die "no Rust >= $RUST_LEAST" "setup/system.sh need"
  export PATH="$rust:$PATH"
  if cargo clippy --version >/dev/null 2>&1 && cargo fmt --version >/dev/null 2>&1; then return; fi
  if have rustup; then
    quietly "installing rustfmt and clippy" rustup component add rustfmt clippy
    return
  fi
  package=$(dpkg -S "$(readlink -f "$rust/cargo")" 2>/dev/null | cut -d : -f 1 || true)
  suffix=${package#cargo}
  package="rust${suffix}-clippy rustfmt${suffix}"
  as_root || die "rustfmt and clippy are not here" "sudo apt-get install -y $package"
  update
  read -ra package <<<"$package"
  install "${package[@]}"
}

# here COMMAND|/PATH: is there such a program, or such a file?
here() { case $1 in /*) [ -e "$1" ] ;; *) have "$1" ;; esac; }

# want COMMAND[=PACKAGE]...: what is not here is installed from the package of that name, or of its own.
want() {
  local missing=() packages=() one
  for one in "$@"; do
    if ! here "${one%%=*}"; then
      missing+=("${one%%=*}")
      packages+=("${one#*=}")
    fi
  done
  if [ ${#missing[@]} = 0 ]; then return; fi
  if ! have apt-get || ! as_root; then
    say "not here: ${missing[*]}; to have them: sudo apt-get update && sudo apt-get install -y ${packages[*]}"
    return
  fi
  update
  for one in "${!missing[@]}"; do
    (install "${packages[$one]}") || say "going on without ${missing[$one]}"
  done
}

mkdir -p "$STAMPS"
case ${1:-} in
need) need ;;
lint) lint ;;
want) shift && want "$@" ;;
*) die "usage: setup/system.sh need | lint | want COMMAND[=PACKAGE]..." ;;
esac
