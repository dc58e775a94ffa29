#!/usr/bin/env bash
# make docs: builds the documentation of this version as a searchable site in dist/docs/VERSION. Any warning is an error.
#
# Sites of other versions in dist/docs stay, and each page links to all of them.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
all=$ROOT/dist/docs
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
site=$all/$version

# lead FILE PAGE: makes FILE lead to PAGE. Servers and people expect index.html; the front page is docs/README.md.
lead() {
  printf '<!doctype html><meta http-equiv="refresh" content="0; url=%s"><a href="%s">Hindmost</a>\n' "$2" "$2" >"$1"
}

rm -rf "$site"
quietly "building the site" setup/run python -m sphinx -W --keep-going -q -b html -c docs/site docs "$site"
rm -rf "$site/.doctrees" "$site/.buildinfo" "$all/jupyter_execute"
quietly "writing the JSON Schemas" setup/run python docs/schemas.py "$site/schemas"
setup/run python setup/notices.py "$site/third-party.txt" furo sphinx sphinx-basic-ng pygments myst-nb
lead "$site/index.html" README.html

mapfile -t versions < <(find "$all" -mindepth 1 -maxdepth 1 -type d -name '[0-9]*' -printf '%f\n' | sort -rV)
printf 'showVersions([%s]);\n' "$(printf '"%s", ' "${versions[@]}")" >"$all/versions.js"
lead "$all/index.html" "${versions[0]}/README.html"
say "open $site/index.html; its search works without a server"
