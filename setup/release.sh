#!/usr/bin/env bash
# make release VERSION=X.Y.Z: writes the version and the date where they stand, commits, and makes the tag vX.Y.Z.
# Nothing is pushed or published.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
version=${1-}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || die "VERSION is not of the form X.Y.Z" "make release VERSION=0.2.0"
[ -z "$(git status --porcelain)" ] || die "the tree has changes that are not committed"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || die "the tag v$version exists"
grep -q "^## $version, unreleased$" CHANGELOG.md || die "CHANGELOG.md has no section '## $version, unreleased'"

old=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
today=$(date -u +%F)
sed -i "s/^## $version, unreleased$/## $version, $today/" CHANGELOG.md
sed -i "/^\[workspace.package\]/,/^\[/s/^version = .*/version = \"$version\"/" Cargo.toml
sed -i "s/^version: .*/version: $version/; s/^date-released: .*/date-released: $today/" CITATION.cff
sed -i "s/>$old</>$version</" hadoop/pom.xml hadoop/*/pom.xml
sed -i "s/hindmost@v$old/hindmost@v$version/" docs/guides/ci.md examples/ci/github-actions.yml
for manifest in Cargo.toml fuzz/Cargo.toml originals/Cargo.toml; do
  quietly "the lock file of $manifest" setup/run cargo update --workspace --offline --manifest-path "$manifest"
done
git commit -qam "Release $version"
git tag -a "v$version" -m "Hindmost $version"
say "committed and tagged v$version; to publish: git push --follow-tags"
