#!/usr/bin/env bash
# make accuracy: claims that need real time on a quiet host. Each is held, broken or undecided; broken fails.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
exec setup/run python -m pytest -m "not originals" tests/accuracy "$@"
