#!/bin/sh
# The three cases of the variability paper (WWW 2019, sections 6 to 8) on this machine: first traces, then trials.
# Usage: examples/variability/paper-cases.sh FOLDER [batching|lru|pinning]      (root, at least two CPUs)
# ROUNDS=8, RATE=20k, REMAKE=0 and so on come from the environment; a trial takes about ROUNDS x 2 x 3 seconds.
# README.md has the results of one machine.
set -eu
to=$1
which=${2:-all}
here=$(cd "$(dirname "$0")" && pwd)
rate=${RATE:-20k}
mkdir -p "$to"
# Server and client have a CPU each: with few cores, the server's background work delays its requests.
apart='--server-cpus 0 --client-cpus 1 --clients 1'
# Levels alternate, so interference that affects all of them alike needs no excluded rounds.
short="--duration ${DURATION:-2s} --warmup 500ms --pairs ${ROUNDS:-8} --remake ${REMAKE:-0} --quiet"

# 6. memcached at a high rate: the paper finds that an interval batches requests better than Nagle's algorithm.
if [ "$which" = all ] || [ "$which" = batching ]; then
  hindmost compare memcached --batch auto --rate "${HIGH:-60k}" --connections 2 $apart $short --out "$to/batching" || true
fi

# 7. memcached's LRU maintainer on few cores, with more data than memory: on, off, or at lower priority than the
# workers;
# and a setting that should have no effect.
if [ "$which" = all ] || [ "$which" = lru ]; then
  target='memcached?memory_mib=16'
  load="--rate $rate --workload $here/evictions.json $apart"
  try() { hindmost compare "$target" $load $short "$@" || true; }
  hindmost measure "$target" $load --duration 2s --runs 2 --remake 0 --trace --quiet --out "$to/traced" || true
  try --set 'argument = "-o no_lru_maintainer" = off,on' --out "$to/lru-off"
  try --set 'schedule = "mc-lrumaint" = found,nice:19' --out "$to/lru-behind"
  try --set 'pinning = true = free,each' --out "$to/lru-wrong-knob"
fi

# 8. Apache: each process's threads pinned to one CPU, with many threads and with few.
if [ "$which" = all ] || [ "$which" = pinning ]; then
  for workers in 25 5; do
    hindmost compare "apache?workers=$workers" --rate "${WEB:-2k}" --clients 1 --connections 4 $short \
      --set 'pinning = true = free,process' --out "$to/pinning-$workers" || true
  done
fi
