#!/usr/bin/env bash
# Creates the virtual environment .venv from pinned versions: setup/venv.sh LOCK-FILE
# A .venv that does not work (moved folder, removed Python) is recreated.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
lock=$1
venv=$ROOT/.venv

# A virtual environment contains its own path: a copied or moved one would act on the old place.
whole() {
  "$venv/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null &&
    grep -qF "$venv" "$venv/bin/activate" && "$venv/bin/python" -m pip --version >/dev/null 2>&1
}

if ! whole; then
  found=$(find_python venv) || die "no Python >= $PYTHON_LEAST with venv" "setup/system.sh need"
  rm -rf "$venv" "$STAMPS/runtime" "$STAMPS/dev" "$STAMPS/engine"
  quietly "creating .venv with Python ${found#* }" "${found% *}" -m venv "$venv"
fi
say "installing Python packages of $lock"
quietly "Python packages of $lock" "$venv/bin/python" -m pip install --disable-pip-version-check \
  --no-input --no-deps --require-hashes -r "$ROOT/$lock"
