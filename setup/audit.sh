#!/usr/bin/env bash
# make audit: known vulnerabilities, licences and sources of all dependencies. Exit status 0: nothing found; 1: found;
# 3: unknown, because a database of advisories cannot be reached.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# known NAME COMMAND...: runs a check of advisories; a check that could not run is not a success.
known() {
  local name=$1
  shift
  if "$@" >"$work/said" 2>&1 && ! grep -q 'could not be audited' "$work/said"; then
    say "audit: $name: no advisories"
  elif grep -qi 'could not be audited\|failed to fetch\|unable to\|connection\|dns\|unreachable' "$work/said"; then
    say "audit: $name: unknown: its database of advisories cannot be reached"
    [ "$status" = 1 ] || status=3
  else
    cat "$work/said" >&2
    say "audit: $name: FOUND"
    status=1
  fi
}

have cargo-deny || PATH=$ROOT/target/tools/bin:$PATH
have cargo-deny || quietly "building cargo-deny" setup/run cargo install cargo-deny --locked --root target/tools
setup/run cargo deny --locked check bans licenses sources || status=1
known "crates" setup/run cargo deny --locked check advisories
python3 -m venv "$work/venv" && "$work/venv/bin/pip" install --quiet pip-audit || die "pip-audit cannot be installed"
for lock in requirements.lock requirements-dev.lock requirements-docs.lock; do
  known "$lock" timeout 300 "$work/venv/bin/pip-audit" --requirement "$lock" --require-hashes --disable-pip --progress-spinner off
done
# The workflows of .github. actionlint is a Go program; without Go they stay unchecked.
have actionlint || PATH=$ROOT/target/tools/bin:$PATH
if ! have actionlint && have go; then
  GOBIN=$ROOT/target/tools/bin quietly "building actionlint" go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
fi
if have actionlint; then
  actionlint .github/workflows/*.yml examples/ci/github-actions.yml && say "audit: workflows: no errors" || status=1
else
  say "audit: workflows: unknown: neither actionlint nor Go is installed"
fi
exit "$status"
