#!/usr/bin/env bash
# setup/try-wheels.sh WHEEL...: installs each wheel into empty environments, of every Python that is here, and uses it
# without the sources: version, a measured server, a comparison.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

pythons() {
  local name path
  for name in python3.11 python3.12 python3.13 python3.14 python3.15; do
    path=$(command -v "$name") || continue
    "$path" -c 'import ensurepip, venv' 2>/dev/null && printf '%s\n' "$path"
  done
}

for wheel in "$@"; do
  case $wheel in *"$(uname -m)"*) ;; *) continue ;; esac
  for python in $(pythons); do
    rm -rf venv studies && "$python" -m venv venv
    quietly "installing $(basename "$wheel") with $(basename "$python")" venv/bin/pip install --quiet "$wheel"
    quietly "using it with $(basename "$python")" env -i HOME="$work" PATH="$work/venv/bin:/usr/bin:/usr/sbin:/bin" \
      bash -euc 'hindmost --version
        python -m hindmost --version
        hindmost measure synth --rate 500 --runs 2 --duration 1s --warmup 1s --out studies/one --quiet --json >one.json || [ $? = 4 ] || [ $? = 6 ]
        hindmost study report studies/one --json >two.json
        test -s studies/one/report.html'
  done
done
