#!/bin/sh
# Checks the limits of a server. The GitHub action and the GitLab job in this folder call it, and so can you:
#
#   LIMITS='p99<50ms,failed<1%' examples/ci/gate.sh TARGET [OPTIONS OF hindmost measure]
#
# It leaves limits.xml (JUnit), summary.md and the study in OUT, and ends with the exit code of the limits:
# 0 held, 3 crossed, 4 undecided, 6 invalid measurement. An undecided limit gets more runs once.
set -u
limits=${LIMITS:-p99<50ms,failed<1%}
out=${OUT:-hindmost-ci}
more=${MORE_RUNS-20..40}
mkdir -p "$out"
measured() {
    hindmost measure "$@" --quiet --junit "$out/limits.xml" --markdown "$out/summary.md"
}

measured "$@" --out "$out/study" --require "$limits"
code=$?
if [ "$code" -eq 4 ] && [ -n "$more" ]; then
    measured --resume "$out/study" --runs "$more"
    code=$?
fi
# GitHub shows the content of this file on the page of the job.
if [ -n "${GITHUB_STEP_SUMMARY:-}" ] && [ -f "$out/summary.md" ]; then
    cat "$out/summary.md" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
