#!/usr/bin/env bash
# setup/try-wheels.sh WHEEL...: uses each wheel without the sources: measures a server and reports the study.
#
# It takes every Python that is here (in PATH or pyenv's), and those of Debian's next releases (with a newer glibc; needs
# root). With one of them it also installs all extras, and by pipx and uv. A wheel for aarch64 is tried with Debian's Python for arm64 under qemu-user: that reports a stored study and
# simulates a clone, but cannot start clients. Debian's packages are only unpacked, never installed.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
wheels=()
for wheel in "$@"; do wheels+=("$(realpath "$wheel")"); done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv pip
cat >use <<'USE'
hindmost --version
python -m hindmost --version
hindmost measure synth --rate 500 --runs 2 --duration 1s --warmup 1s --out one --quiet --json >one.json || [ $? = 4 ] || [ $? = 6 ]
hindmost study report one --json >two.json
test -s one/report.html
USE

# The mirror that this system's apt uses, without Debian's separate one for security.
mirror=$(apt-get indextargets --format '$(SITE)' 2>/dev/null | grep -v security | head -n 1)

# root_of SUITE ARCHITECTURE: unpacks a release's Python into ./SUITE-ARCHITECTURE/root, and prints its version.
root_of() {
  local at=$work/$1-$2 package
  mkdir -p "$at"/{root,lists/partial,archives/partial}
  : >"$at/status"
  echo "deb $mirror $1 main" >"$at/sources.list"
  local apt=(apt-get -qq -o Dir::Etc::SourceList="$at/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o Dir::State="$at" -o Dir::State::status="$at/status" -o Dir::Cache="$at" -o APT::Sandbox::User=root
    -o APT::Architecture="$2" -o APT::Architectures::="$2")
  "${apt[@]}" update >&2
  "${apt[@]}" install --download-only -y --no-install-recommends python3 bash coreutils libgcc-s1 libstdc++6 >&2
  for package in "$at"/archives/*.deb; do dpkg -x "$package" "$at/root"; done
  find "$at/root/usr/bin" -name 'python3.*' -printf '%f\n' | sed -n 's/^python\(3\.[0-9]*\)$/\1/p' | head -n 1
}

# unpack WHEEL VERSION FOLDER: the wheel and its dependencies, for a Python and an architecture that are not ours.
unpack() {
  local machine=x86_64
  case $1 in *aarch64*) machine=aarch64 ;; esac
  quietly "unpacking $(basename "$1") for Python $2" pip/bin/pip install --quiet --target "$3" --only-binary=:all: \
    --python-version "$2" --platform "manylinux2014_$machine" --platform "manylinux_2_17_$machine" \
    --platform "manylinux_2_28_$machine" "$1"
}

# pythons: the path of each Python from 3.11 on that can make environments, one of each version.
pythons() {
  local name path
  for name in python3.{11..19}; do
    for path in "$(command -v "$name")" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/"$name"; do
      if [ -x "$path" ] && "$path" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "$path"
        break
      fi
    done
  done
}

try_here() {
  local path name
  for path in $(pythons); do
    name=$(basename "$path")
    rm -rf venv one
    "$path" -m venv venv
    quietly "installing $(basename "$1") with $name" venv/bin/pip install --quiet "$1"
    quietly "using it with $name" env -i HOME="$work" PATH="$work/venv/bin:/usr/bin:/usr/sbin:/bin" bash -eu use
  done
  quietly "installing all extras with $name" venv/bin/pip install --quiet "$1[fleet,grpc,pandas,polars,formula]"
  quietly "using the extras" venv/bin/python -c '
import asyncssh, distributed, formulaic, google.protobuf, hindmost, hindmost.cli, pandas
assert isinstance(hindmost.open_study("one", frames="pandas").latency, pandas.DataFrame)
assert hindmost.cli.main(["study", "export", "one", "--as", "parquet"]) == 0'
}

# try_installers WHEEL: installs the command by pipx and by uv, each into a folder of its own.
try_installers() {
  local index
  index=$(pip/bin/pip config get global.index-url 2>/dev/null || true)
  quietly "installing pipx and uv" pip/bin/pip install --quiet pipx uv
  quietly "pipx install" env PIPX_HOME="$work/pipx" PIPX_BIN_DIR="$work/pipx/bin" pip/bin/pipx install "$1"
  quietly "uv tool install" env UV_TOOL_DIR="$work/uv" UV_TOOL_BIN_DIR="$work/uv/bin" ${index:+UV_DEFAULT_INDEX="$index"} \
    pip/bin/uv tool install --python "$(pythons | tail -n 1)" "$1"
  pipx/bin/hindmost --version && uv/bin/hindmost --version
}

try_debian() {
  local version root=$work/$2-amd64/root
  version=$(root_of "$2" amd64)
  unpack "$1" "$version" "$root/site"
  mkdir -p "$root"/{proc,sys,dev,tmp,root}
  cp /etc/passwd /etc/group "$root/etc/"
  cp use "$root/root/"
  ln -s "python$version" "$root/usr/bin/python"
  printf '#!/bin/bash\nexec python -m hindmost "$@"\n' >"$root/usr/bin/hindmost"
  chmod +x "$root/usr/bin/hindmost"
  # The mounts are in a namespace of their own, and end with it.
  quietly "using it with Python $version of $2" unshare --mount --fork bash -euc '
    for one in proc sys dev; do mount --rbind "/$one" "$0/$one"; done
    chroot "$0" /usr/bin/env -i -C /root PATH=/usr/bin:/usr/sbin PYTHONPATH=/site HOME=/root bash -eu use' "$root"
}

try_arm64() {
  local version root=$work/bookworm-arm64/root
  version=$(root_of bookworm arm64)
  unpack "$1" "$version" site
  tar xzf "$ROOT/tests/golden/data/study-0.1.tar.gz"
  quietly "using it under qemu-aarch64" env PYTHONPATH="$work/site" bash -euc '
    hindmost() { qemu-aarch64 -L "$0" "$0/usr/bin/python3" -m hindmost "$@"; }
    hindmost --version
    hindmost study report study --json >report.json
    hindmost clone simulate xapian --utilisation 50% --requests 20000 --json >clone.json
    test -s study/report.html' "$root"
}

for wheel in "${wheels[@]}"; do
  case $wheel in
    *"$(uname -m)"*)
      try_here "$wheel"
      try_installers "$wheel"
      if [ "$(id -u)" = 0 ] && [ "$(uname -m)" = x86_64 ] && [ -n "$mirror" ]; then
        for suite in trixie sid; do try_debian "$wheel" "$suite"; done
      else
        say "newer Pythons are not tried: needs root and apt"
      fi
      ;;
    *aarch64*)
      if have qemu-aarch64 && [ -n "$mirror" ]; then
        try_arm64 "$wheel"
      else
        say "$(basename "$wheel") is not tried: needs qemu-aarch64 (package qemu-user) and apt"
      fi
      ;;
  esac
done
