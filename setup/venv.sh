#!/usr/bin/env bash
# The virtual environment in .venv, from pinned versions: setup/venv.sh LOCK-FILE
# A .venv that no longer works (moved folder, Python gone) is made anew.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
lock=$1
venv=$ROOT/.venv

# A virtual environment knows its own place: one that was copied or moved would act on the old one.
whole() {
  "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null &&
    grep -qF "$venv" "$venv/bin/activate" && "$venv/bin/python" -m pip --version >/dev/null 2>&1
}

if ! whole; then
  found=$(find_python venv) || die "no Python >= $PYTHON_LEAST with venv" "setup/system.sh need"
  rm -rf "$venv" "$STAMPS/runtime" "$STAMPS/dev" "$STAMPS/engine"
  quietly "making .venv with Python ${found#* }" "${found% *}" -m venv "$venv"
fi
say "installing Python packages of $lock"
quietly "Python packages of $lock" "$venv/bin/python" -m pip install --disable-pip-version-check \
  --no-input --no-deps --require-hashes -r "$ROOT/$lock"
