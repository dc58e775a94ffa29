"""Codes about co-location, harvesting and Kubernetes."""

from __future__ import annotations

from hindmost.core.codes.code import Code

_STOP_OTHERS = "Stop other programs (`top -H -o %CPU`), then repeat."

CODES: dict[str, Code] = {
    # Profiles and predictions
    "other-processor": Code(
        "A profile was measured on another kind of processor, so its losses do not apply here.",
        "Profile all programs on the same kind of machine.",
    ),
    "no-loaded-profile": Code(
        "The server's profile was made without load, so it has no latency.",
        "Profile the server again with `--probe` and `--probe-address`.",
    ),
    "shared-counter": Code(
        "The program counts its work in a file or in requests, so two copies cannot be counted separately.",
        "Use a program that prints a line for each unit of work, or, for a server,"
        " `hindmost colocate predict --measure`.",
    ),
    "few-programs": Code("There are too few programs to fit the model.", "Measure more programs."),
    "no-free-processor": Code(
        "The server uses every processor, so none is left for jobs.",
        "Restrict the server to fewer processors, or run the job under `hindmost colocate supervise`.",
    ),
    "missing-axes": Code(
        "The profiles lack figures for some stressors, so the answer is uncertain.",
        "Profile both programs with the same `--stressors` and a longer `--budget`.",
    ),
    "no-losses": Code(
        "Too few windows with a stressor were usable, so the losses are unknown.", _STOP_OTHERS
    ),
    "undecided-axes": Code(
        "With some stressors, the intervals range from no loss to a large loss.", "Use a longer `--budget`."
    ),
    "noisy-profile": Code(
        "The intervals of the losses range from nothing to everything, so they support no prediction.",
        "Use a longer `--budget`, or a quieter host.",
    ),
    "no-server-latency": Code(
        "The server's profile has no latency, so its percentiles are derived from its rate alone.",
        "Profile the server with `--probe` and `--probe-address`.",
    ),
    "sum-of-jobs": Code(
        "The job may share the server's machine on its own, but not together with the jobs listed before it.",
        "Run it under `hindmost colocate supervise`, or list it first.",
    ),
    "different-placements": Code(
        "The two profiles were measured on different pairs of processors.",
        "Profile both programs with the same `--cpu` and `--other`.",
    ),
    "high-violation-rate": Code(
        "There are too few measured pairs to guarantee this violation rate, so the upper bound is used.",
        "Measure more pairs, or accept a higher `--violations`.",
    ),
    "unused-evidence": Code(
        "Some supervised windows do not fit the question, so they do not count. The field `reason` says why:"
        " another promise, processor model or version, a lighter load, or lines that cannot be read.",
        "State `--promise` or `--load`, or use `--all-evidence` for other processors and versions.",
    ),
    "broken-without-job": Code(
        "The server often exceeded its limit while the job was paused, so the job is not the cause.",
        "Find the cause with `hindmost diagnose`.",
    ),
    # Programs under measurement
    "program-ended": Code(
        "A program ended while it was being measured.", "Run the command on its own and check its exit code."
    ),
    "program-not-started": Code("The operating system refused to start a program.", "Check its permissions."),
    "few-units": Code(
        "The program reported too few units of work.",
        "Print a line for each unit and flush it, or use `--work cpu` or `--counter`.",
    ),
    "short-run": Code(
        "One run of the program is so short that start-up dominates its time.", "Give each run more work."
    ),
    "long-run": Code(
        "One run of the program is too long to count as a unit of work.", "Give each run less work."
    ),
    # Windows
    "few-windows": Code("Too few measurement windows were usable.", _STOP_OTHERS),
    "no-window-percentile": Code(
        "Too few windows yielded the server's latency with the jobs running.",
        "Use a longer `--budget` or a quieter host.",
    ),
    "few-requests": Code(
        "A window contains too few requests for this percentile.", "Use a longer window or a higher rate."
    ),
    "mixed-placements": Code(
        "The hypervisor moved the processors between windows, so the figures mix several placements.",
        "Repeat the measurement, or use a host with pinned processors.",
    ),
    "clock-changed": Code(
        "A processor's clock frequency changed during some windows. These windows were excluded.",
        "Fix the clock frequency if too few windows remain.",
    ),
    "children-not-counted": Code(
        "The CPU time of child processes is not counted because perf_event_open is refused.",
        "Set `kernel.perf_event_paranoid` to 2 or lower.",
    ),
    "ordinary-threads": Code(
        "The stressors ran without real-time priority, so windows vary more.",
        "Allow SCHED_FIFO, or use a longer `--budget`.",
    ),
    # Stressors and cores
    "core-disturbed": Code("Other programs interfered with every measurement of this core.", _STOP_OTHERS),
    "core-shared": Code(
        "Another guest of this host used the same core in every measurement.",
        "Repeat later, or measure another processor with `--cpu`.",
    ),
    "unsteady-class": Code(
        "The core executes this class of instructions at several steady rates.",
        "Nothing: its stressor works, but the certificate says nothing about its ports.",
    ),
    "unsaturated-class": Code(
        "One stream of this class leaves its ports idle, because its latency is longer than its chains.",
        "Nothing: its stressor works, but the certificate says nothing about its ports.",
    ),
    "no-sibling": Code(
        "The processor has no usable hardware thread on the same core.",
        "Leave out `--other`, or use a machine with two threads per core.",
    ),
    "stressor-unsupported": Code("The processor lacks an instruction of a stressor.", "Leave it out."),
    "stressor-unknown": Code(
        "There is no such stressor.", "List them with `hindmost colocate stressors --list`."
    ),
    "stressor-memory": Code("The kernel refused memory for a stressor.", "Free memory, or raise the limit."),
    "stressor-setup": Code("A stressor's socket or file cannot be opened.", "Check permissions and space."),
    "stressor-processor": Code(
        "A stressor cannot run on this processor.", "Use a processor that this process may run on."
    ),
    "stressor-busy": Code("The host was too busy for a single burst without interference.", _STOP_OTHERS),
    # Supervision
    "needs-probe": Code(
        "This command needs a probe because an access log reports latency too late.",
        "Specify an address for the probe.",
    ),
    "job-contains-server": Code(
        "The job's process tree contains the server or this command.", "Specify the batch job's own process."
    ),
    "fast-forks": Code(
        "A process creates children faster than they can be moved into a control group.", "Repeat later."
    ),
    "group-refused": Code(
        "The kernel refused to move a process into a control group.", "Run the command as root."
    ),
    "budget-used": Code(
        "Most of the slow requests allowed in this window have occurred, so the job's share was cut.",
        "Nothing to do.",
    ),
    "budget-spent": Code(
        "Nearly all slow requests allowed in this window have occurred, so the job was paused.",
        "Nothing to do.",
    ),
    "promise-broken": Code("A window exceeded the latency limit, so the job was paused.", "Nothing to do."),
    "quiet-windows": Code(
        "Latency stayed well below the limit for several windows, so the job's share was raised.",
        "Nothing to do.",
    ),
    # Kubernetes
    "server-would-lose": Code(
        "This job would slow a server on the node by more than the limit.", "Place the job elsewhere."
    ),
    "loss-unknown": Code(
        "The profiles do not predict how much a server on the node would lose, and the extender is strict.",
        "Profile the server and the job on the same kind of machine.",
    ),
    "little-headroom": Code(
        "The node's primary tenant leaves fewer cores than the pod requests.", "Place the pod elsewhere."
    ),
    "bad-share": Code(
        "A label or annotation of the node is not a valid share.", "Write a share such as `0.5` or `50%`."
    ),
    "bad-question": Code(
        "The request is not a valid extender request of kube-scheduler.",
        "Check the scheduler's `extenders` configuration.",
    ),
    "judge-failed": Code("The extender failed to answer.", "Check the extender's log and input files."),
    # Harvesting
    "few-readings": Code(
        "The traces have too few usable readings.", "Record longer traces, or use a longer `--slot`."
    ),
    "no-whole-trace": Code(
        "Every trace has too many gaps to show a pattern.",
        "Check the clocks of the servers, or use a longer `--slot`.",
    ),
    "no-owner": Code("No server with a trace belongs to a tenant.", "List the servers in `tenants.csv`."),
    "too-many-slots": Code(
        "The readings span so much time that a server's clock must be wrong.",
        "Correct the times, or set `--slot`.",
    ),
    "no-reimages": Code(
        "No tenant has any reimages, so no block can be lost.", "Add a column `reimages` to `tenants.csv`."
    ),
    "no-class": Code("No tenant could be classified.", "Record traces with fewer gaps."),
    "harvest-document": Code("The simulator cannot parse this setting.", "Correct the setting."),
    "harvest-shape": Code("The traces do not fill the matrix of tenants and slots.", "Report this as a bug."),
    "harvest-short": Code("The traces are too short to show a pattern.", "Record longer traces."),
    "harvest-range": Code(
        "A setting of the simulator is outside its range.", "Use a value within the range."
    ),
    "harvest-long": Code(
        "The simulated period is longer than the recorded traces.",
        "Simulate fewer days, or record longer traces.",
    ),
    "harvest-nothing": Code("The input has no tenants or no servers.", "Classify more traces."),
}
