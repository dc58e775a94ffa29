#!/usr/bin/env bash
# Stock Hadoop and Harvest's on this machine, next to a search service under load: examples/harvest/cluster.sh --help
set -euo pipefail
exec "$(dirname "$0")/../../setup/run" python examples/harvest/cluster.py "$@"
