#!/usr/bin/env bash
# setup/new-user.sh [WHEEL]: walks a new user's path, from an empty home to a confirmed gain, and times each step.
#
# The user is created for this and removed afterwards (needs root), and has nothing but the system's programs, the wheel
# (default: the newest in dist/), what pip installs with it, and the two files of the tutorial. Writes a table in Markdown
# to standard output. Any verdict is right where a step measures; `trace` refuses without rights (5), so it runs once
# more as root. No step may leave a process behind.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
wheel=$(realpath "${1:-$(find "$ROOT/dist" -name "hindmost-*$(uname -m).whl" | sort | tail -n 1)}")
[ -f "$wheel" ] || die "there is no wheel" "make dist"
[ "$(id -u)" = 0 ] || die "only root can create a user"
"$ROOT/setup/system.sh" want memcached
user=hindmost-new-$$
home=$(mktemp -d)
log=$(mktemp)
useradd --no-create-home --home-dir "$home" --shell /bin/bash "$user"
trap 'userdel --force "$user" 2>/dev/null || true; rm -rf "$home" "$log"' EXIT
cp "$wheel" "$ROOT"/examples/tutorial/* "$home/"
chown -R "$user" "$home"
chmod 755 "$home"
# The system's own Python, where it can make environments: what a new user has.
read -r python _ < <(PATH=/usr/local/bin:/usr/bin:/bin find_python venv) || die "no Python with venv" "setup/system.sh need"

failed=0
# step USER NAME CODES COMMAND: runs it in the new home, and prints its row.
step() {
  local who=$1 name=$2 codes=" $3 " begun=$SECONDS status=0 mark=ok
  shift 3
  setpriv --reuid "$who" --regid "$who" --clear-groups env -i HOME="$home" LANG=C.UTF-8 USER="$who" \
    PATH="$home/.venv/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin" bash -c "cd ~ && $*" >"$log" 2>&1 </dev/null || status=$?
  case $codes in *" $status "*) ;; *) mark=FAILED failed=1 && tail -n 20 "$log" >&2 ;; esac
  if pgrep -u "$user" -a >&2; then
    mark="FAILED: it left processes behind" failed=1
  fi
  printf '| %s | `%s` | %s s | %s (%s) |\n' "$name" "$*" $((SECONDS - begun)) "$status" "$mark"
}

# trace_a_server: both steps on a memcached under load, without rights and as root.
trace_a_server() {
  local port server load address
  port=$("$python" -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
  address=memcached://127.0.0.1:$port
  memcached -u nobody -l 127.0.0.1 -p "$port" &
  server=$!
  "$home/.venv/bin/hindmost" measure "$address" --rate 5k --runs 1 --duration 15s --out "$home/load" --quiet >"$home/load.log" 2>&1 &
  load=$!
  sleep 8 # connected and warmed up
  step "$user" "trace without rights" 5 "hindmost trace $address --duration 2s"
  step root "trace as root" 0 "hindmost trace $address --duration 3s --page trace.html"
  wait "$load" || true # its verdict does not matter here
  kill "$server"
  wait "$server" || true
}
verdicts='0 4 6' # valid, inconclusive, invalid
shop='shop.toml --rate 1k --workload few.json'

printf '| step | command | time | exit code |\n| --- | --- | ---: | --- |\n'
step "$user" "create an environment" 0 "$python -m venv .venv"
step "$user" "install the wheel" 0 "pip install --quiet $(basename "$wheel")"
step "$user" "read the help" 0 "hindmost --help"
step "$user" "check the host" "0 5" "hindmost host doctor"
step "$user" "measure a server" "$verdicts" "hindmost measure memcached --rate 10k --runs 5 --duration 2s --out first"
step "$user" "read the page" 0 "test -s first/report.html && hindmost study report first"
step "$user" "compare two settings" "$verdicts" "hindmost compare $shop --set lock_us=400,40 --pairs 6 --duration 2s --out second"
trace_a_server
step "$user" "explain" 0 "hindmost explain $shop --budget 3m --out third"
step "$user" "export" 0 "hindmost study export first --as csv"
step "$user" "list what was measured" 0 "hindmost study list"
exit $failed
