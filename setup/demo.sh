#!/usr/bin/env bash
# make demo: measures a real memcached in about two minutes, and leaves a study folder with a page.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
out=demo-study
cd "$ROOT"

# Only a folder that an earlier demo made is removed.
if [ -e "$out" ]; then
  if [ -z "$(ls -A "$out" 2>/dev/null)" ] ||
    grep -q '"schema": "hindmost.study/1"' "$out/manifest.json" 2>/dev/null; then
    rm -rf "$out"
  else
    die "$ROOT/$out is in the way, and no earlier demo made it" "mv $ROOT/$out $ROOT/$out.mine"
  fi
fi

target=memcached
if ! have memcached; then
  say "memcached cannot be had here: the demo takes the embedded server, which speaks the same protocol"
  target=synth
fi

command=(.venv/bin/hindmost measure "$target" --rate 20k --quantiles 50,95,99 --runs 10..12 --precision 10% --duration 4s --out "$out")
printf '\n$ %s\n' "${command[*]}" >&2
status=0
"$ROOT/setup/run" "${command[@]}" || status=$?

# Inconclusive (4) and invalid (6) are answers: this host, now, cannot carry the claim, and the result says why.
case $status in
0) ;;
4) say "the verdict is inconclusive, which is an answer too: the table says why and what would help" ;;
6) say "the verdict is invalid, which is an answer too: the client distorted the figures, and the first lines say how" ;;
*) exit "$status" ;;
esac
cat >&2 <<END

  page    $ROOT/$out/report.html   (open it in a browser; it needs no network)
  study   $ROOT/$out               (result.json, and every run with its histograms and samples)
  next    docs/guides/measure.md; where a hint says hindmost, type .venv/bin/hindmost
END
