#!/usr/bin/env bash
# make machines: what works on other kernels, topologies and rights, in virtual machines without KVM. Each takes some
# minutes. All together write docs/machines.md. Some: MACHINES='6.12-smt 6.12-user'
#
# The guests see this file system; what they write is lost. Nothing in them is timed.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1
tools=target/machines
mkdir -p "$tools"
# name | kernel package | QEMU's CPUs and options | user | what is special | kernel arguments
machines='6.1|linux-image-amd64|2|root|Debian 12|
6.12|linux-image-6.12-amd64|2|root|Debian 13|
6.12-smt|linux-image-6.12-amd64|8,sockets=1,cores=4,threads=2 -cpu EPYC,topoext=on|root|four cores with siblings|
6.12-numa|linux-image-6.12-amd64|8,sockets=2,cores=4,threads=1 -object memory-backend-ram,id=m0,size=1536M -object memory-backend-ram,id=m1,size=1536M -numa node,cpus=0-3,memdev=m0 -numa node,cpus=4-7,memdev=m1|root|two nodes|
6.12-64|linux-image-6.12-amd64|64,sockets=2,cores=16,threads=2 -cpu EPYC,topoext=on|root|64 CPUs|
6.12-lockdown|linux-image-6.12-amd64|2|root|locked down|lockdown=confidentiality
6.12-user|linux-image-6.12-amd64|2|nobody|an ordinary user|'

skipped() {
  say "machines: skipped: $1"
  exit 77
}
[ "$(uname -m)" = x86_64 ] || skipped "needs x86-64"
setup/system.sh want memcached qemu-system-x86_64=qemu-system-x86 busybox=busybox-static
have qemu-system-x86_64 || skipped "qemu-system-x86 is not installed"
[ -x "$tools/venv/bin/vng" ] || {
  python3 -m venv "$tools/venv" && "$tools/venv/bin/pip" install --quiet virtme-ng
} || skipped "virtme-ng cannot be installed"

# kernel_of PACKAGE: prints the path of its kernel; installs it if that is missing.
kernel_of() {
  local package
  package=$(apt-cache depends "$1" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-.*\)$/\1/p' | head -n 1)
  [ -n "$package" ] || return 1
  [ -e "/boot/vmlinuz-${package#linux-image-}" ] ||
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 || return 1
  printf '/boot/vmlinuz-%s\n' "${package#linux-image-}"
}

# An interrupted script ends its guest; one that is killed leaves it its 900 s.
guest=
trap '[ -z "$guest" ] || kill "$guest"' EXIT
trap 'exit 130' INT TERM HUP
failed=0
results=$tools/results
mkdir -p "$results"
while IFS='|' read -r name package cpus user about arguments; do
  [[ " ${MACHINES:-$name} " = *" $name "* ]] || continue
  kernel=$(kernel_of "$package") || { say "machines: $name: no kernel ($package)"; continue; }
  begun=$SECONDS
  command="cd $ROOT && PYTHONDONTWRITEBYTECODE=1 .venv/bin/python tests/machines/capabilities.py"
  [ "$user" = root ] || command="setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp bash -c '$command'"
  options=(--cpus "${cpus%% *}")
  [ -z "$arguments" ] || options+=("--append=$arguments")
  [ "$cpus" = "${cpus#* }" ] || options+=("--qemu-opts=${cpus#* }")
  # virtme-ng wants a terminal.
  printf -v line '%q ' "$ROOT/$tools/venv/bin/vng" --run "$kernel" --disable-kvm --memory 3G --user root \
    --overlay-rwdir /var --overlay-rwdir /root "${options[@]}" -- "$command"
  PATH=$ROOT/$tools/venv/bin:$PATH timeout -k 10 900 script -qefc "$line" "$results/$name" >/dev/null 2>&1 </dev/null &
  guest=$!
  wait "$guest"
  guest=
  sed -i 's/\r$//' "$results/$name"
  if grep -q '^CAPABILITY_END' "$results/$name" && ! grep -q '"state": "failed"' "$results/$name"; then
    say "machines: $name ($about): ok, $((SECONDS - begun)) s"
  else
    failed=1
    say "machines: $name ($about): FAILED, $((SECONDS - begun)) s; its output is in $results/$name"
  fi
done <<<"$machines"
[ -n "${MACHINES-}" ] || setup/run python docs/machines_page.py "$results" "$machines" >docs/machines.md
exit "$failed"
