"""Advice on where to run jobs next to a server, and the files that put it into effect.

Profiles are measured with each program on its own CPUs, so the advice separates CPUs too: the server gets its
own, and tolerable jobs get the rest, at idle priority.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from typing import Unpack

from hindmost.commands.colocate.documents.profiles import ADVICE_SCHEMA, Advice, JobAdvice, Place, Profile
from hindmost.commands.colocate.prediction.decision import Sources, decide
from hindmost.core.notes import Note
from hindmost.errors import HostUnfit, UsageError

SLICE = "hindmost-beside.slice"
SCRIPT = "cpusets.sh"
_PLACES: dict[str, Place] = {"yes": "beside", "unknown": "supervised", "no": "elsewhere"}


def advise(
    server: Profile,
    jobs: Sequence[Profile],
    *,
    within: float,
    load: float,
    cpus: Sequence[int],
    server_cpus: Sequence[int] | None = None,
    **sources: Unpack[Sources],
) -> Advice:
    """Decide for each job whether it may run next to the server, under supervision, or elsewhere.

    Jobs next to the server run at the same time, so their costs add up in the given order. A job that was
    measured or supervised was the only one, so it uses up the whole allowed loss.

    Parameters
    ----------
    server, jobs : Profile
    within : float
        Largest tolerable growth of the server's percentiles, as a share.
    load : float
        Load of the server, between 0 and 1.
    cpus, server_cpus : sequence of int
        CPUs of the machine, and of the server; by default the first ones, as many as its load needs.
    sources
        Pairs and supervised windows, as in `decide`.

    Raises
    ------
    HostUnfit
        No CPU is left for jobs.
    UsageError
        The profiles come from different processors, or two jobs have the same name.
    """
    own = sorted(server_cpus or sorted(cpus)[: max(1, math.ceil(load * len(cpus)))])
    left = sorted(set(cpus) - set(own))
    if not left:
        share = "hindmost colocate supervise runs a job on the server's own CPUs"
        raise HostUnfit(
            "no-free-processor",
            f"the server uses all {len(cpus)} CPUs; none is left for jobs",
            hint="--server-cpus LIST with fewer CPUs" if len(cpus) > 1 else share,
            have=len(cpus),
            load=load,
        )
    advised: list[JobAdvice] = []
    spent = 0.0
    for job in jobs:
        if job.name in [one.job for one in advised]:
            raise UsageError(
                "duplicate-name",
                f"two profiles are named {job.name!r}",
                hint="hindmost colocate profile --name NAME",
                name=job.name,
            )
        found = decide(job, server, within=within, load=load, **sources)
        place, notes = _PLACES[found.answer], list(found.notes)
        cost = found.worst if found.by == "bound" else found.allowed
        if place == "beside" and spent + cost > found.allowed:
            place = "supervised"
            text = f"next to the jobs before it, {job.name} may cost more than is allowed"
            notes.append(Note("sum-of-jobs", text, {"have": spent, "need": cost}).document())
        spent += cost if place == "beside" else 0.0
        advised.append(
            JobAdvice(
                job=job.name,
                command=job.command,
                answer=found.answer,
                by=found.by,
                evidence=found.evidence,
                place=place,
                worst=found.worst,
                stressor=found.stressor,
                allowed=found.allowed,
                notes=notes,
            )
        )
    return Advice(
        schema=ADVICE_SCHEMA,
        server=server.name,
        within=within,
        load=load,
        server_cpus=own,
        job_cpus=left,
        jobs=advised,
    )


def files_of(advice: Advice, unit: str | None) -> dict[str, str]:
    """Write the files: a systemd slice for jobs, a drop-in for the server's unit, and a plain script.

    Parameters
    ----------
    unit : str or None
        The server's unit, like ``memcached.service``.

    Raises
    ------
    UsageError
        `unit` is not the name of a service.
    """
    jobs, own = (",".join(map(str, cpus)) for cpus in (advice.job_cpus, advice.server_cpus))
    head = f"# Jobs next to {_plain(advice.server)}, by hindmost colocate predict --advise.\n"
    texts = {
        SLICE: f"{head}[Unit]\nDescription=Batch jobs next to a server\n\n"
        f"[Slice]\nAllowedCPUs={jobs}\nCPUWeight=idle\n",
        SCRIPT: _script(head, jobs),
    }
    if unit is not None:
        if not re.fullmatch(r"[\w.@:-]+\.service", unit, re.ASCII):
            raise UsageError(
                "bad-value",
                f"--unit {unit!r} is not the name of a systemd service",
                hint="--unit memcached.service",
                option="--unit",
                value=unit,
            )
        texts[f"{unit}.d/hindmost.conf"] = f"{head}[Service]\nAllowedCPUs={own}\n"
    return texts


def _script(head: str, cpus: str) -> str:
    """Write the script for hosts without systemd, which moves processes and can move them back.

    The cpuset controller is in the unified hierarchy (cgroup v2) or in its own (v1); a hybrid host has both
    kinds of mounts. A file keeps the original group of each process, one per line.
    """
    return f"""#!/bin/sh
{head}# cpusets.sh PID...: confine these processes to CPUs {cpus}. cpusets.sh undo: move them back.
set -eu
back=/run/hindmost-beside.back
top= version=
while read -r _ folder kind options _; do
  case $kind in
  cgroup2)
    if grep -qw cpuset "$folder/cgroup.controllers" 2> /dev/null; then top=$folder version=2; fi ;;
  cgroup)
    case ,$options, in *,cpuset,*) [ "$version" = 2 ] || {{ top=$folder; version=1; }} ;; esac ;;
  esac
done < /proc/self/mounts
if [ -z "$top" ]; then echo "no control group hierarchy has the cpuset controller" >&2; exit 1; fi
group=$top/hindmost-beside
if [ "${{1-}}" = undo ]; then
  [ -d "$group" ] || exit 0
  for pid in $(cat "$group/cgroup.procs"); do
    # A process started in the group goes to the first one's original group, or to the top if that is gone.
    old=$(sed -n "s/^$pid //p" "$back")
    [ -n "$old" ] || old=$(sed -n '1s/^[0-9]* //p' "$back")
    [ -d "$top$old" ] || old=
    echo "$pid" > "$top$old/cgroup.procs" || :
  done
  rmdir "$group"
  rm -f "$back"
  exit 0
fi
if [ "$version" = 2 ]; then
  grep -qw cpuset "$top/cgroup.subtree_control" || echo +cpuset > "$top/cgroup.subtree_control"
fi
[ -d "$group" ] || {{ mkdir "$group"; : > "$back"; }}
echo {cpus} > "$group/cpuset.cpus"
[ "$version" = 2 ] || cat "$top/cpuset.mems" > "$group/cpuset.mems"
move() {{
  if [ "$version" = 2 ]; then old=$(sed -n 's/^0:://p' "/proc/$1/cgroup")
  else old=$(sed -n 's/^[0-9]*:\\([^:]*,\\)*cpuset\\(,[^:]*\\)*://p' "/proc/$1/cgroup"); fi || return 1
  [ "$old" != /hindmost-beside ] || return 0
  echo "$1 $old" >> "$back"
  echo "$1" > "$group/cgroup.procs" || {{ sed -i "/^$1 /d" "$back"; return 1; }}
}}
failed=
for pid; do move "$pid" || failed="$failed $pid"; done
[ -z "$failed" ] || {{ echo "hindmost: these processes were not moved:$failed" >&2; exit 1; }}
"""


def command_of(one: JobAdvice, at: str, promise: str) -> str | None:
    """Return the command that starts a job where the advice puts it; None if that is elsewhere."""
    words = shlex.join(one.command)
    if one.place == "beside":
        return f"systemd-run --slice={SLICE} -- {words}"
    if one.place == "supervised":
        arguments = f"{shlex.quote(at)} {shlex.quote(words)} --promise {shlex.quote(promise)}"
        return f"hindmost colocate supervise {arguments}"
    return None


def _plain(text: str) -> str:
    return re.sub(r"[^\w .@:-]", "?", text)
