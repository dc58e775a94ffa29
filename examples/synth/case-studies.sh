#!/bin/sh
# TailWAG's three case studies (BID 2023, section 5), simulated: a table for each, and a page with latency against
# load.
# Usage: examples/synth/case-studies.sh [FOLDER]      (`hindmost` must be on the path; takes about half a minute)
set -eu
here=$(dirname "$0")
pages=${1:-.}

# 5.1 DNN evolution: a model that is 1.46 times as heavy, and hardware that is 1.7 or 70 times as fast. The paper
# states
# 320 and 7.75 us; 395 us / 1.7 is 232 us, 395 us / 70 is 5.6 us.
hindmost clone sweep img-dnn --together --out "$pages/dnn-evolution.html" --requests 200000 --utilisation 20%,50%,70% \
  --vary 'name=heavier x1.46,as it is,1.7 times as fast,70 times as fast' \
  --vary service_factor=1.46,1,0.5882352941,0.01428571429
hindmost clone sweep img-dnn --together --out "$pages/dnn-evolution-4.html" --requests 200000 \
  --utilisation 20%,50%,70% --vary threads=4 \
  --vary 'name=4 threads,4 threads 1.7 times as fast,4 threads 70 times as fast' \
  --vary service_factor=1,0.5882352941,0.01428571429

# 5.2 Interrupts: on a separate core (which the server lacks), on the server's cores, on none, or handled by an
# accelerator in 0.5 us.
hindmost clone sweep "$here/silo-interrupts.toml" --together --out "$pages/interrupts.html" --requests 500000 \
  --rate 20k..140k:7 --vary name=SEP,MIX,IDEAL,accelerator --vary threads=3,4,4,4 \
  --vary 'disturbances[0].when.probability=0,0.1,0,0.1' --vary 'disturbances[1].when.probability=0,0.02,0,0.02' \
  --vary 'disturbances[0].length.median_us=10,10,10,0.5' --vary 'disturbances[1].length.median_us=10,10,10,0.5'

# 5.3 Garbage collectors: parallel (50 ms every 10 s), and concurrent (10 % more service, 1 ms every 10 s). Three
# million
# requests see at least ten collections.
hindmost clone sweep "$here/specjbb-collector.toml" --together --out "$pages/garbage-collectors.html" \
  --requests 3000000 --rate 5k..30k:6 --vary name=parallel,concurrent,none \
  --vary 'disturbances[0].length.us=50000,1000,0' --vary service_factor=1,1.1,1
