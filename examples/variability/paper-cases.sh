#!/bin/sh
# The three cases of the variability paper (WWW 2019, sections 6 to 8) on this machine: what traces show, then trials.
# Usage: examples/variability/paper-cases.sh FOLDER [batching|lru|pinning]      (root, two processors at least)
# ROUNDS=6 and RATE=20k are taken from the environment; each trial takes about ROUNDS x 2 x 4 seconds.
set -eu
to=$1
which=${2:-all}
rounds=${ROUNDS:-6}
rate=${RATE:-20k}
mkdir -p "$to"
# Server and client on a processor each: with few cores whatever the server does beside its work stands in its way.
apart='--server-cpus 0 --client-cpus 1 --clients 1'
short="--duration ${DURATION:-2s} --warmup 500ms --rounds $rounds --remake ${REMAKE:-0} --quiet"

# 6. memcached at a high rate: requests are best batched, by an interval rather than by Nagle's algorithm.
if [ "$which" = all ] || [ "$which" = batching ]; then
  hindmost batching memcached --rate "${HIGH:-60k}" --connections 2 $apart $short --out "$to/batching" || true
fi

# 7. memcached's LRU maintainer on few cores: on or off, behind the workers; and a knob that is none of it.
if [ "$which" = all ] || [ "$which" = lru ]; then
  try() { hindmost trial memcached --rate "$rate" $apart $short "$@" || true; }
  hindmost measure memcached --rate "$rate" $apart --duration 2s --runs 2 --trace --quiet --out "$to/traced" || true
  try --knob 'argument = "-o no_lru_maintainer"' --levels off,on --out "$to/lru-off"
  try --knob 'schedule = "mc-lrumaint"' --levels found,nice:19 --out "$to/lru-behind"
  try --knob 'pinning = true' --levels free,each --out "$to/lru-wrong-knob"
fi

# 8. Apache: each process's threads on a processor of their own, with many threads and with few.
if [ "$which" = all ] || [ "$which" = pinning ]; then
  for workers in 25 5; do
    hindmost trial "apache?workers=$workers" --rate "${WEB:-2k}" --clients 1 --connections 4 $short \
      --knob 'pinning = true' --levels free,process --by mean --out "$to/pinning-$workers" || true
  done
fi
