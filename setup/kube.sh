#!/usr/bin/env bash
# Builds the real kube-scheduler from its Go module into .peers/; exit status 77 without Go. Takes minutes, once.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
have go || exit 77
version=1.34.4
place=$ROOT/.peers/kube-scheduler-$version
[ ! -x "$place" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GOFLAGS=-mod=mod
cd "$work"
cat >main.go <<'GO'
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() { os.Exit(cli.Run(app.NewSchedulerCommand())) }
GO
go mod init example.org/scheduler 2>/dev/null
source=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
# Its go.mod replaces its parts by folders that the module does not contain; they are also published as modules.
{
  printf 'module example.org/scheduler\n\ngo 1.24.0\n\nrequire k8s.io/kubernetes v%s\n' "$version"
  sed -n "s,^\t\(k8s.io/[a-z-]*\) => ./staging.*,replace \1 => \1 v0.${version#1.},p" "$source/go.mod"
} >go.mod
cp "$source/go.sum" . && chmod u+w go.sum
quietly "building kube-scheduler $version" go build -o built .
mkdir -p "$ROOT/.peers"
mv built "$place"
