#!/usr/bin/env bash
# make check: unit tests, properties, doctests, and lint of files changed after the last commit.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
export OPENBLAS_NUM_THREADS=1
unset MAKEFLAGS MFLAGS PYTHONDONTWRITEBYTECODE
failed=()
try() { "$@" || failed+=("${*:1:4}"); }

mapfile -t changed < <(git diff --name-only --diff-filter=d HEAD && git ls-files --others --exclude-standard)
mapfile -t python < <(printf '%s\n' "${changed[@]}" | grep '\.py$')
if [ ${#python[@]} != 0 ]; then
  try setup/run ruff check "${python[@]}"
  try setup/run ruff format --check --quiet "${python[@]}"
  try setup/run mypy
fi
try setup/run python -m pytest -q -n 2 --dist worksteal tests/unit tests/property python/hindmost
if printf '%s\n' "${changed[@]}" | grep -q '\.rs$\|Cargo'; then
  try setup/run cargo fmt --check
  try setup/run cargo clippy --release --workspace --all-targets --locked --quiet -- -D warnings
fi
try setup/run cargo test --release --workspace --locked --quiet --lib

[ ${#failed[@]} = 0 ] || say "failed: $(printf '%s; ' "${failed[@]}")"
[ ${#failed[@]} = 0 ]
