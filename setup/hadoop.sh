#!/usr/bin/env bash
# The plug-ins for Hadoop: setup/hadoop.sh build | tez | golden | parts | read TENANTS | hdfs [DATA_NODES] [BLOCKS] | yarn | test | search PORT DOCUMENTS [LOAD_FILE]
#
# Maven fetches Hadoop once (150 MB). Each step has a hard limit: a JVM that Hadoop's threads keep alive is killed.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT/hadoop" || exit 1
if [ -n "${HADOOP_VERSION-}" ]; then # another version has a folder of its own
  mkdir -p "target/$HADOOP_VERSION" && rm -rf "target/$HADOOP_VERSION/src"
  cp -a src pom.xml "target/$HADOOP_VERSION" && cd "target/$HADOOP_VERSION" || exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
JVM=(java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx640m --add-opens java.base/java.lang=ALL-UNNAMED)

# missing: why there is nothing to run here; empty where there is.
missing() {
  command -v java >/dev/null && command -v mvn >/dev/null || { echo "java and maven are not installed"; return; }
  local version
  version=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
  [ "${version:-0}" -ge 11 ] || echo "java is $version, 11 or newer is needed"
}

# build [FOLDER]: a module with its own class path; nothing is asked of the network for what did not change.
build() {
  local at=${1-.}
  [ "$at/target/classpath" -nt "$at/pom.xml" ] && [ -z "$(find "$at/src" -newer "$at/target/classpath" -print -quit)" ] &&
    return
  timeout -k 5 300 mvn -q -B -f "$at/pom.xml" ${HADOOP_VERSION:+-Dhadoop.version=$HADOOP_VERSION} process-test-classes \
    jar:jar dependency:build-classpath -Dmdep.outputFile=target/classpath >"$work/mvn" 2>&1 &&
    touch "$at/target/classpath" && return
  tail -n 30 "$work/mvn"
  return 1
}

# main LIMIT CLASS ARGUMENTS...: one main class, its warnings only where it failed.
main() {
  local limit=$1 class=$2
  shift 2
  timeout -k 5 "$limit" "${JVM[@]}" -cp "target/classes:target/test-classes:$work/conf:$(cat target/classpath)" \
    "hindmost.hadoop.$class" "$@" 2>"$work/said" && return
  tail -n 30 "$work/said"
  return 1
}

# search PORT DOCUMENTS [LOAD_FILE]: a search service by Lucene, a primary tenant to protect; until it is ended.
search() {
  build search || return
  rm -rf "$work"
  exec java -XX:+UseSerialGC -Xmx512m -cp "search/target/classes:$(cat search/target/classpath)" \
    hindmost.search.SearchServer "$@"
}

mkdir -p "$work/conf" # before the JVM looks at its class path
why=$(missing)
[ -z "$why" ] || { say "hadoop: skipped: $why"; exit 77; }
[ "${1-}" = search ] || build || exit 1
case ${1-} in
  build) ;;
  tez) build tez ;;
  golden) main 30 GoldenMain ;;
  parts) main 30 PartsMain ;;
  read) main 30 ReadMain "${2-}" ;;
  hdfs) shift; main 180 HdfsMini "$work" "$@" ;;
  yarn) main 150 YarnMini ;;
  search) shift; search "$@" ;;
  test) main 30 GoldenMain && main 30 PartsMain && main 180 HdfsMini "$work" 9 60 ;;
  *) die "usage: setup/hadoop.sh build | tez | golden | parts | read TENANTS | hdfs [DATA_NODES] [BLOCKS] | yarn | test | search PORT DOCUMENTS [LOAD_FILE]" ;;
esac
