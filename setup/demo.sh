#!/usr/bin/env bash
# make demo: measures a real memcached in about two minutes, and leaves a study folder with a page.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
out=demo-study
cd "$ROOT"

# Remove the folder only if an earlier demo created it.
if [ -e "$out" ]; then
  if [ -z "$(ls -A "$out" 2>/dev/null)" ] ||
    grep -q '"schema": "hindmost.study/1"' "$out/manifest.json" 2>/dev/null; then
    rm -rf "$out"
  else
    die "$ROOT/$out exists and was not created by the demo" "mv $ROOT/$out $ROOT/$out.mine"
  fi
fi

target=memcached
if ! have memcached; then
  say "memcached cannot be installed: the demo uses the embedded server, which has the same protocol"
  target=synth
fi

command=(.venv/bin/hindmost measure "$target" --rate 20k --quantiles 50,95,99 --runs 10..12 --precision 10% --duration 4s --out "$out")
printf '\n$ %s\n' "${command[*]}" >&2
status=0
"$ROOT/setup/run" "${command[@]}" || status=$?

# Inconclusive (4) and invalid (6) are answers: this host cannot support the claim at present, and the result says
# why.
case $status in
0) ;;
4) say "the verdict is inconclusive; the table says why and what would help" ;;
6) say "the verdict is invalid: the client distorted the result; the first lines say how" ;;
*) exit "$status" ;;
esac
cat >&2 <<END

  page    $ROOT/$out/report.html   (open it in a browser; it needs no network)
  study   $ROOT/$out               (result.json, and every run with its histograms and samples)
  next    docs/guides/measure.md; where a hint says hindmost, type .venv/bin/hindmost
END
