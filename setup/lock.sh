#!/usr/bin/env bash
# Updates the lock files from pyproject.toml: setup/lock.sh
# They have name==version with the hashes of all files of that version, so that pip accepts no other file from any
# index (--require-hashes). Read the difference, run `make test`, then commit.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
read -r python _ < <(find_python venv)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# freeze NAME REQUIREMENT...: the versions that pip chooses for them, one pin per line.
freeze() {
  local name=$1
  shift
  "$python" -m venv "$place/$name"
  "$place/$name/bin/pip" install --quiet --disable-pip-version-check "$@"
  "$place/$name/bin/pip" freeze --exclude pip --exclude setuptools --all | grep '==' | sort -f
}

# wanted GROUP: the requirements in pyproject.toml, one per line.
wanted() {
  "$python" - "$1" <<'PYTHON'
import sys, tomllib
with open("pyproject.toml", "rb") as file:
    document = tomllib.load(file)
if sys.argv[1] == "runtime":
    print(*document["build-system"]["requires"], *document["project"]["dependencies"], sep="\n")
else:
    print(*document["dependency-groups"][sys.argv[1]], sep="\n")
    if sys.argv[1] == "developers":  # tests need every extra
        print(*(one for extra in document["project"]["optional-dependencies"].values() for one in extra), sep="\n")
PYTHON
}

cd "$ROOT"
mapfile -t runtime < <(wanted runtime)
mapfile -t dev < <(wanted developers)
mapfile -t docs < <(wanted documentation)
{
  echo "# What builds and runs Hindmost, pinned. Made by setup/lock.sh."
  freeze runtime "${runtime[@]}"
} >"$place/requirements.lock"
{
  echo "# What tests and checks it, beside requirements.lock, pinned. Made by setup/lock.sh."
  freeze dev -c "$place/requirements.lock" "${dev[@]}" | grep -vxFf "$place/requirements.lock"
} >"$place/requirements-dev.lock"
{
  echo "# What builds the documentation (make docs), beside requirements.lock, pinned. Made by setup/lock.sh."
  # Use the developers' versions where both have a package: the two share .venv.
  cat "$place/requirements.lock" "$place/requirements-dev.lock" | grep '==' >"$place/both"
  freeze docs -c "$place/both" "${docs[@]}" | grep -vxFf "$place/requirements.lock"
} >"$place/requirements-docs.lock"
"$python" -m venv "$place/uv"
"$place/uv/bin/pip" install --quiet --disable-pip-version-check uv
index=$("$python" -m pip config get global.index-url 2>/dev/null || true)
for lock in "$place"/*.lock; do
  {
    head -n 1 "$lock"
    "$place/uv/bin/uv" pip compile --quiet --no-header --no-annotate --no-deps --generate-hashes \
      ${index:+--index-url "$index"} "$lock"
  } >"$ROOT/$(basename "$lock").new"
  mv "$ROOT/$(basename "$lock").new" "$ROOT/$(basename "$lock")"
done
