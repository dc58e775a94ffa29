#!/bin/sh
# The three cases of the variability paper (WWW 2019, sections 6 to 8) on this machine: what traces show, then trials.
# Usage: examples/variability/paper-cases.sh FOLDER [batching|lru|pinning]      (root, two processors at least)
# ROUNDS=8, RATE=20k, REMAKE=0 and so on are taken from the environment; a trial takes about ROUNDS x 2 x 3 seconds.
# README.md has what they showed on one machine.
set -eu
to=$1
which=${2:-all}
here=$(cd "$(dirname "$0")" && pwd)
rate=${RATE:-20k}
mkdir -p "$to"
# Server and client on a processor each: with few cores whatever the server does beside its work stands in its way.
apart='--server-cpus 0 --client-cpus 1 --clients 1'
# Levels are in turns, so what the host takes from all of them alike needs no round to be set aside.
short="--duration ${DURATION:-2s} --warmup 500ms --pairs ${ROUNDS:-8} --remake ${REMAKE:-0} --quiet"

# 6. memcached at a high rate: requests are best batched, by an interval rather than by Nagle's algorithm.
if [ "$which" = all ] || [ "$which" = batching ]; then
  hindmost compare memcached --batch auto --rate "${HIGH:-60k}" --connections 2 $apart $short --out "$to/batching" || true
fi

# 7. memcached's LRU maintainer on few cores, with more stored than there is room for: on or off, or behind the workers;
#    and a knob that is none of it.
if [ "$which" = all ] || [ "$which" = lru ]; then
  target='memcached?memory_mib=16'
  load="--rate $rate --workload $here/evictions.json $apart"
  try() { hindmost compare "$target" $load $short "$@" || true; }
  hindmost measure "$target" $load --duration 2s --runs 2 --remake 0 --trace --quiet --out "$to/traced" || true
  try --set 'argument = "-o no_lru_maintainer" = off,on' --out "$to/lru-off"
  try --set 'schedule = "mc-lrumaint" = found,nice:19' --out "$to/lru-behind"
  try --set 'pinning = true = free,each' --out "$to/lru-wrong-knob"
fi

# 8. Apache: each process's threads on a processor of their own, with many threads and with few.
if [ "$which" = all ] || [ "$which" = pinning ]; then
  for workers in 25 5; do
    hindmost compare "apache?workers=$workers" --rate "${WEB:-2k}" --clients 1 --connections 4 $short \
      --set 'pinning = true = free,process' --out "$to/pinning-$workers" || true
  done
fi
