#!/usr/bin/env bash
# Installs what comes from the system instead of a language's registry:
#
#   setup/system.sh need    a C linker, Python, Rust, which are required
#   setup/system.sh lint    rustfmt and clippy of the installed Rust
#   setup/system.sh want memcached redis-server tcpdump h2load=nghttp2-client ...
#                           servers to measure, packet capture, other load testers, each with its package if the
#                           name differs; a file is named by its path. If one is missing, the demo, the tests and
#                           the benches say what they skip
#
# Missing packages are installed if we are root and the system has apt; otherwise one line says what to run.
# No package is removed or replaced (--no-remove).
set -euo pipefail
. "$(dirname "$0")/lib.sh"

candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *//p' | sed 's/^[0-9]*://; s/(none)//'; }

# Prints Debian packages with a recent Rust, or nothing. Debian's newest stable names them cargo and rustc;
# older releases keep a newer pair for their browsers (-web), Ubuntu numbers them.
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
  say "updating the package lists"
  apt-get update -qq >/dev/null 2>&1 || say "apt-get update failed; continuing with the present lists"
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
      die "rustup is installed, but its Rust is older than $RUST_LEAST" "rustup update stable"
    elif [ -n "$rust" ]; then
      read -ra rust <<<"$rust"
      packages+=("${rust[@]}")
    else
      die "Rust >= $RUST_LEAST is not installed, and the package manager has none; install it with rustup, then run make again"
    fi
  fi
  as_root || die "missing: ${packages[*]}" "sudo apt-get update && sudo apt-get install -y ${packages[*]}"
  install "${packages[@]}"
  case " ${packages[*]} " in *" rustup "*) quietly "installing Rust with rustup" rustup default stable ;; esac
  find_rust >/dev/null || die "the installed Rust is older than $RUST_LEAST" "rustup update stable"
  find_python venv >/dev/null || die "no Python >= $PYTHON_LEAST with venv could be installed"
}

# Debian splits rustup's components: cargo-web belongs to rust-web-clippy and rustfmt-web, cargo-1.85 to numbered
# ones.
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
  as_root || die "rustfmt and clippy are not installed" "sudo apt-get install -y $package"
  update
  read -ra package <<<"$package"
  install "${package[@]}"
}

# here COMMAND|/PATH: whether the program or the file exists.
here() { case $1 in /*) [ -e "$1" ] ;; *) have "$1" ;; esac; }

# want COMMAND[=PACKAGE]...: installs missing commands from the package given, or from the one of the same name.
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
    say "not installed: ${missing[*]}; to install: sudo apt-get update && sudo apt-get install -y ${packages[*]}"
    return
  fi
  update
  for one in "${!missing[@]}"; do
    (install "${packages[$one]}") || say "continuing without ${missing[$one]}"
  done
}

mkdir -p "$STAMPS"
case ${1:-} in
need) need ;;
lint) lint ;;
want) shift && want "$@" ;;
*) die "usage: setup/system.sh need | lint | want COMMAND[=PACKAGE]..." ;;
esac
