# A failed test is asked once more, by itself. Sourced by test.sh and precision.sh, never run. shellcheck shell=bash
#
# A fault fails twice; a test that a busy host starved holds, and is told as unsteady, with its first failure in the
# log. More than MOST of one ring have a cause in common: they are not asked again, and the ring is red.

MOST=3

# unsteady TEST...: told at the end of make test.
unsteady() { printf '%s\n' "$@" >>"$work/unsteady"; }

# asked_by_pytest NAME ARGUMENTS...: the ring, and then those of its tests that failed, one after the other.
asked_by_pytest() {
  local cache=$work/cache-$1 status=0 tests
  shift
  "${PYTEST[@]}" -o cache_dir="$cache" "$@" || status=$?
  [ "$status" = 1 ] || return "$status" # 1: tests failed, and nothing else went wrong
  mapfile -t tests < <(sed -n 's/^ *"\(.*\)": true,\{0,1\}$/\1/p' "$cache/v/cache/lastfailed")
  ((${#tests[@]} >= 1 && ${#tests[@]} <= MOST)) || return 1
  say "asked again: ${tests[*]}"
  "${PYTEST[@]}" -o cache_dir="$cache" "$@" -n 0 --last-failed --last-failed-no-failures none || return 1
  unsteady "${tests[@]}"
}

# asked_by_cargo ARGUMENTS...: cargo test, and then those of its tests that failed.
asked_by_cargo() {
  local log=$work/cargo target targets tests held
  setup/run cargo test --release --locked --quiet --no-fail-fast "$@" 2>&1 | tee "$log" && return
  mapfile -t targets < <(sed -n 's/^error: .*to rerun pass `\(.*\)`$/\1/p' "$log" | sort -u)
  mapfile -t tests < <(failed_of_libtest <"$log")
  ((${#targets[@]} >= 1 && ${#tests[@]} >= 1 && ${#tests[@]} <= MOST)) || return 1
  say "asked again: ${tests[*]}"
  for target in "${targets[@]}"; do
    # Words: `-p PACKAGE --test TARGET`. Of one package alone its dependencies would have other features and be compiled
    # anew, so the target is sought in all of them.
    # shellcheck disable=SC2086
    setup/run cargo test --release --locked --quiet --workspace ${target#-p * } -- --exact "${tests[@]}" 2>&1 | tee -a "$log.again" || return 1
  done
  # What ran no test has shown nothing.
  held=$(sed -n 's/^test result: ok\. \([0-9]*\) passed.*/\1/p' "$log.again" | awk '{ all += $1 } END { print all + 0 }')
  ((held >= ${#tests[@]})) || return 1
  unsteady "${tests[@]}"
}

# The names below the last `failures:` of each target.
failed_of_libtest() {
  awk '/^failures:$/ { listed = 1; next } /^test result:/ { listed = 0 } listed && /^    [A-Za-z0-9_:]+$/ { print $1 }' | sort -u
}

# Those that were unsteady, as lines that CI shows.
tell_unsteady() {
  local test
  [ -e "$work/unsteady" ] || return 0
  while read -r test; do printf 'UNSTEADY: %s failed, and held when it was asked again\n' "$test" >&2; done <"$work/unsteady"
}
