#!/usr/bin/env bash
# The plug-ins for Hadoop: setup/hadoop.sh build | lint | tez | golden | parts | policy | contract | read TENANTS [SITE...] | hdfs [DATA_NODES] [BLOCKS] | replay TENANTS SECONDS ARM... | yarn | test | search PORT DOCUMENTS [LOAD_FILE]
#
# Maven fetches Hadoop once (150 MB). Each step has hard limits: a JVM kept alive by Hadoop's threads is killed.
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT/hadoop" || exit 1
target=target${HADOOP_VERSION:+-$HADOOP_VERSION} # other versions have separate folders
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
JVM=(java "-Djava.io.tmpdir=$work" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx640m --add-opens java.base/java.lang=ALL-UNNAMED)

# missing: prints why nothing can run here; empty if it can.
missing() {
  command -v java >/dev/null && command -v mvn >/dev/null || { echo "java and maven are not installed"; return; }
  local version
  version=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
  [ "${version:-0}" -ge 11 ] || echo "java is $version, 11 or newer is needed"
}

# sources FOLDER: a hash of all sources of a module; file times mean nothing after a checkout.
sources() {
  (cd "$1" && { echo "${HADOOP_VERSION-}"; find src pom.xml -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; }) |
    sha256sum
}

# whole FOLDER BUILT: whether each source has its class, and each jar of the class path exists.
whole() {
  local file
  while IFS= read -r file; do
    [ -f "$2/classes/${file#main/java/}.class" ] || [ -f "$2/test-classes/${file#test/java/}.class" ] || return
  done < <(cd "$1/src" && find . -name '*.java' | sed 's#^\./##; s#\.java$##')
  while IFS= read -r file; do
    [ -e "$file" ] || return
  done < <(tr ':' '\n' <"$2/classpath")
}

# build FOLDER: builds a module with its own class path; unchanged modules need no network. Only one build runs at a
# time.
# It writes to a new folder, which replaces the old one when it is complete.
build() {
  (
    flock -w 570 9 || { say "hadoop: another build of $1 is still running after 570 s"; exit 1; }
    built_of=$(sources "$1")
    [ "$(cat "$1/$target/built-of" 2>/dev/null)" = "$built_of" ] && whole "$1" "$1/$target" && exit
    rm -rf "${1:?}/$target.new"
    if timeout -k 5 300 mvn -q -B -f "$1/pom.xml" ${HADOOP_VERSION:+-Dhadoop.version=$HADOOP_VERSION} \
      -Dbuilt="$target.new" process-test-classes jar:jar dependency:build-classpath \
      -Dmdep.outputFile="$target.new/classpath" >"$work/mvn" 2>&1 9>&- && whole "$1" "$1/$target.new"; then
      echo "$built_of" >"$1/$target.new/built-of"
      rm -rf "${1:?}/$target" && mv "$1/$target.new" "$1/$target" && exit
    fi
    say "hadoop: $1 was not built"
    tail -n 30 "$work/mvn"
    exit 1
  ) 9>"$1/target.lock"
}

# lint FOLDER: fails on compiler warnings.
lint() {
  local status=0
  timeout -k 5 300 mvn -B -f "$1/pom.xml" -Plint -Dbuilt="$target.lint" test-compile >"$work/mvn" 2>&1 || status=1
  rm -rf "${1:?}/$target.lint"
  [ "$status" = 1 ] || return 0
  say "hadoop: $1 is not clean"
  grep -E -m 40 "^\[(WARNING|ERROR)\].*\.java" "$work/mvn" || tail -n 20 "$work/mvn" # or Maven itself failed
  return 1
}

# contract: runs Hadoop's own tests of its default placement policy on ours, with a file of tenants that lists no
# host.
contract() {
  build contract || return
  local text='# hindmost.harvest.tenants/1\ntenant\tt\te\t0\t0\t1\t-1\nhost\tnobody\tt\n'
  # The checksum is gzip's, which is at the end of its output.
  printf "${text}end\t%s\n" "$(printf "$text" | gzip -c | tail -c 8 | od -An -N4 -tx4 --endian=little | tr -d ' ')" \
    >"$work/tenants"
  printf '<configuration><property><name>hindmost.harvest.tenants.file</name><value>%s</value></property></configuration>' \
    "$work/tenants" >"$work/conf/hdfs-site.xml"
  class_path="contract/$target/classes:$target/classes:$work/conf:$(cat "contract/$target/classpath")"
  main 120 org.apache.hadoop.hdfs.server.blockmanagement.ContractMain
}

# main LIMIT CLASS ARGUMENTS...: runs one main class, showing its warnings only on failure. The limit is CPU time,
# which a
# busy host does not use up; a process that waits has ten times as long, at most 560 s, or HADOOP_PATIENCE.
main() {
  local limit=$1 class=$2 status patience
  patience=${HADOOP_PATIENCE:-$(($1 < 56 ? 10 * $1 : 560))}
  shift 2
  [[ $class == *.* ]] || class=hindmost.hadoop.$class
  (
    ulimit -c 0 -S -t "$limit"
    exec timeout -k 5 "$patience" "${JVM[@]}" \
      -cp "${class_path-$target/classes:$target/test-classes:$work/conf:$(cat "$target/classpath")}" "$class" "$@"
  ) 2>"$work/said"
  status=$?
  [ $status = 0 ] && return
  tail -n 30 "$work/said"
  case $status in
    124 | 137) say "hadoop: $class was killed after $patience s" ;;
    152) say "hadoop: $class was killed after $limit s of CPU time" ;;
  esac
  return 1
}

# search PORT DOCUMENTS [LOAD_FILE]: runs a Lucene search service, a primary tenant to protect, until it is killed.
search() {
  build search || return
  rm -rf "$work"
  exec java -XX:+UseSerialGC -Xmx512m -cp "search/$target/classes:$(cat "search/$target/classpath")" \
    hindmost.search.SearchServer "$@"
}

mkdir -p "$work/conf" # before the JVM looks at its class path
why=$(missing)
[ -z "$why" ] || { say "hadoop: skipped: $why"; exit 77; }
[ "${1-}" = search ] || build . || exit 1
case ${1-} in
  build) ;;
  lint) status=0; for module in . search tez contract; do lint "$module" || status=1; done; exit "$status" ;;
  tez) build tez ;;
  golden) main 30 GoldenMain ;;
  parts) main 30 PartsMain ;;
  contract) contract ;;
  policy) main 30 org.apache.hadoop.hdfs.server.blockmanagement.PolicyMain ;;
  read) shift; main 30 ReadMain "$@" ;;
  hdfs) shift; main 180 HdfsMini "$work" "$@" ;;
  replay) shift; main 400 ReplayMain "$work" "$@" ;;
  yarn) main 150 YarnMini ;;
  search) shift; search "$@" ;;
  test) main 30 GoldenMain && main 30 PartsMain && main 180 HdfsMini "$work" 9 60 ;;
  *) die "usage: setup/hadoop.sh build | lint | tez | golden | parts | policy | contract | read TENANTS [SITE...] | hdfs [DATA_NODES] [BLOCKS] | replay TENANTS SECONDS ARM... | yarn | test | search PORT DOCUMENTS [LOAD_FILE]" ;;
esac
