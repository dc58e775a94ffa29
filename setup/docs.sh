#!/usr/bin/env bash
# make docs: builds the documentation as a searchable site in dist/docs. Any warning is an error.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
site=$ROOT/dist/docs
rm -rf "$site"
quietly "building the site" "$ROOT/setup/run" python -m sphinx -W --keep-going -q -b html -c "$ROOT/docs/site" "$ROOT/docs" "$site"
# The front page is docs/README.md; servers and people expect index.html.
printf '<!doctype html><meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">Hindmost</a>\n' \
  >"$site/index.html"
say "open $site/index.html; its search works without a server"
