#!/usr/bin/env bash
# A noisy neighbour, for the proof that tests do not need a calm host: setup/noise.sh COMMAND...
#
# Beside COMMAND run, on each processor, a busy loop at nice 0 and a thief that takes 10 % in spells of 3 ms, by
# SCHED_FIFO where we may; and one writer to the disk. All of it ends with COMMAND, and when this script ends in any
# other way (kill -9, too): then COMMAND gets SIGTERM. The status is COMMAND's.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

MOST_SECONDS=${HINDMOST_NOISE_SECONDS:-7200} # whatever happens to COMMAND
SPELL_US=3000
PAUSE_S=0.027     # spells of 3 ms: 10 %
WRITTEN_MIB=64    # each second, over the same bytes of a file without a name

busy() { while :; do :; done; }

now_us() { now=${EPOCHREALTIME/[.,]/}; }

# `read` waits without a process of its own, for what never comes.
thief() {
  local never until now
  exec {never}<> <(:)
  while :; do
    now_us
    until=$((now + SPELL_US))
    while ((now < until)); do now_us; done
    read -rt "$PAUSE_S" -u "$never" || true
  done
}

writer() {
  local file
  file=$(mktemp "${TMPDIR:-/tmp}/hindmost-noise-XXXXXX")
  exec 9<>"$file"
  rm -f "$file"
  while :; do
    dd if=/dev/zero of=/dev/fd/9 bs=1M count="$WRITTEN_MIB" conv=notrunc,fsync status=none
    sleep 1
  done
}

# beside COMMAND...: started so that it dies with this shell, whatever this shell dies of.
beside() { setpriv --pdeathsig KILL -- "$@" </dev/null & }

# The leader of a session of its own. Its standard input ends when noise.sh does.
makers() {
  local cpu real_time=()
  if chrt --fifo 50 true 2>/dev/null; then
    real_time=(chrt --fifo 50)
  else
    say "noise: no real-time scheduling here, so the thief runs as everybody else; root may do better"
  fi
  for cpu in $(processors); do
    beside taskset --cpu-list "$cpu" "$BASH" "$0" --maker busy
    beside "${real_time[@]}" taskset --cpu-list "$cpu" "$BASH" "$0" --maker thief
  done
  beside "$BASH" "$0" --maker writer
  read -rt "$MOST_SECONDS" || true
  kill -KILL 0
}

# Those that we may use, one a line.
processors() {
  taskset --cpu-list --pid $$ | sed 's/.*: //' | tr ',' '\n' | while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done
}

case ${1:?usage: setup/noise.sh COMMAND...} in
--makers) makers ;;
--maker) "${2:?}" ;;
*)
  for tool in setpriv taskset chrt setsid; do
    have "$tool" || die "noise.sh needs $tool" "apt-get install util-linux"
  done
  exec {life}> >(exec setsid "$BASH" "$0" --makers)
  leader=$!
  status=0
  setpriv --pdeathsig TERM -- "$@" {life}>&- || status=$?
  exec {life}>&-
  wait "$leader" 2>/dev/null || true
  exit "$status"
  ;;
esac
