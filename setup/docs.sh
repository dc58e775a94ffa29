#!/usr/bin/env bash
# make docs: the documentation as a site with search, in dist/docs. Any warning is an error.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
site=$ROOT/dist/docs
rm -rf "$site"
quietly "building the site" "$ROOT/setup/run" python -m sphinx -W --keep-going -q -b html -c "$ROOT/docs/site" "$ROOT/docs" "$site"
# Its front page is docs/README.md; servers and people look for another name.
printf '<!doctype html><meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">Hindmost</a>\n' \
  >"$site/index.html"
say "open $site/index.html; its search needs no server"
