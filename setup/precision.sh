#!/usr/bin/env bash
# make precision: claims that need real time on a calm host. What is broken is asked once more, and is red unless it is
# held then (undecided takes nothing back).
set -uo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/again.sh"
cd "$ROOT" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PYTEST=(setup/run python -m pytest -m "not nightly")
asked_by_pytest precision tests/precision
status=$?
tell_unsteady
exit "$status"
