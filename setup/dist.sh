#!/usr/bin/env bash
# make dist: the source distribution and one wheel per architecture for every Python from 3.11 on, in dist/, checked.
#
# Zig links against an old glibc, so that a wheel runs on any Linux since 2014. Each wheel carries the licences and the
# bill of materials of its crates (CycloneDX); dist/hindmost-VERSION.cdx.json lists the Python packages. A wheel for a
# foreign architecture is tried under qemu-user if that is installed.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
tools=target/dist-tools
dist=$ROOT/dist
read -ra architectures <<<"${ARCHITECTURES:-x86_64 aarch64}"
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
most_mb=10

[ -x "$tools/bin/maturin" ] || {
  rm -rf "$tools"
  quietly "making the tools of a release" bash -c "python3 -m venv $tools && $tools/bin/pip install --quiet \
    'maturin[zig]>=1.9,<2' 'twine>=6' 'auditwheel>=6' 'cyclonedx-bom>=5'"
}
PATH=$ROOT/$tools/bin:$(find_rust):$PATH
export VIRTUAL_ENV=$ROOT/$tools

rm -f "$dist"/hindmost-*
quietly "collecting the licences of all crates" python3 setup/notices.py python/hindmost/third-party.txt
quietly "building the source distribution" maturin sdist --out "$dist"
for architecture in "${architectures[@]}"; do
  target=$architecture-unknown-linux-gnu
  [ -d "$(rustc --print target-libdir --target "$target" 2>/dev/null)" ] || rustup target add "$target" >&2 ||
    die "this Rust has no library for $target" "rustup target add $target"
  quietly "building the wheel for $architecture" maturin build --profile dist --locked --zig \
    --target "$target" --compatibility manylinux2014 --out "$dist"
done
quietly "listing the Python packages" cyclonedx-py requirements requirements.lock --output-reproducible \
  --output-file "$dist/hindmost-$version.cdx.json"

quietly "twine check" twine check --strict "$dist"/hindmost-*.whl "$dist"/hindmost-*.tar.gz
for wheel in "$dist"/hindmost-*.whl; do
  size=$(($(stat -c %s "$wheel") / 1000000))
  [ "$size" -lt $most_mb ] || die "$(basename "$wheel") has $size MB; the limit is $most_mb MB"
  quietly "auditwheel $(basename "$wheel")" auditwheel show "$wheel"
  say "$(basename "$wheel"): $(stat -c %s "$wheel" | numfmt --to=si)B"
done
setup/try-wheels.sh "$dist"/hindmost-*.whl
