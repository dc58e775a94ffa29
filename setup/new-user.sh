#!/usr/bin/env bash
# setup/new-user.sh [WHEEL]: walks a new user's path, from an empty home to an explained tail, and times each step.
#
# The user is created for this and removed afterwards (needs root), and has nothing but the system's programs, the wheel
# (default: the newest in dist/) and what pip installs with it. Writes a table in Markdown to standard output. 0, and 4
# (inconclusive) where a step measures, are right; `trace` needs root and must say so (5).
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
trap 'pkill -u "$user" || true; userdel "$user" 2>/dev/null || true; rm -rf "$home" "$log"' EXIT
cp "$wheel" "$home/"
chown -R "$user" "$home"
chmod 755 "$home"

failed=0
# step NAME CODES COMMAND: runs it as the user, and prints its row.
step() {
  local name=$1 codes=" $2 " begun=$SECONDS status=0 mark=ok
  shift 2
  setpriv --reuid "$user" --regid "$user" --clear-groups env -i HOME="$home" LANG=C.UTF-8 USER="$user" \
    PATH="$home/.venv/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin" bash -c "cd ~ && $*" >"$log" 2>&1 </dev/null || status=$?
  case $codes in *" $status "*) ;; *) mark=FAILED failed=1 && tail -n 20 "$log" >&2 ;; esac
  printf '| %s | `%s` | %s s | %s (%s) |\n' "$name" "$*" $((SECONDS - begun)) "$status" "$mark"
}

printf '| step | command | time | exit code |\n| --- | --- | ---: | --- |\n'
step "create an environment" 0 "python3 -m venv .venv"
step "install the wheel" 0 "pip install --quiet $(basename "$wheel")"
step "read the help" 0 "hindmost --help"
step "check the host" "0 5" "hindmost host doctor"
step "measure a server" "0 4" "hindmost measure memcached --rate 10k --runs 5 --duration 2s --out first"
step "read the page" 0 "test -s first/report.html && hindmost study report first"
step "compare two settings" "0 4" "hindmost compare memcached --set threads=1,2 --rate 10k --duration 2s --out second"
step "trace" 5 "hindmost trace memcached --duration 2s"
step "explain" "0 4" "hindmost explain memcached --rate 10k --budget 2m --out third"
step "list what was measured" 0 "hindmost study list"
exit $failed
