"""Codes of co-location, harvesting and Kubernetes."""

from __future__ import annotations

from hindmost.codes.code import Code

_STOP_OTHERS = "Stop other programs (`top -H -o %CPU`), then repeat."

CODES: dict[str, Code] = {
    # Profiles and what is asked of them
    "other-processor": Code(
        "A profile was measured on another kind of processor, so its losses do not apply here.",
        "Profile all programs on the same kind of machine.",
    ),
    "no-loaded-profile": Code(
        "The server's profile was made without load, so it has no latency.",
        "Profile the server again with `--probe` and `--probe-address`.",
    ),
    "shared-counter": Code(
        "The program counts its work in a file or by requests, so two copies cannot be told apart.",
        "Use a program that prints a line for each unit of work, or, for a server,"
        " `hindmost colocate predict --measure`.",
    ),
    "few-programs": Code("There are too few programs to learn from.", "Measure more programs."),
    "no-free-processor": Code(
        "The server uses every processor, so none is left for jobs.",
        "Give the server fewer processors, or run the job under `hindmost colocate supervise`.",
    ),
    "missing-axes": Code(
        "The profiles lack figures for some stressors, so the answer is uncertain.",
        "Profile both programs with the same `--stressors` and a longer `--budget`.",
    ),
    "no-losses": Code(
        "Too few windows were usable next to any stressor, so the losses are unknown.", _STOP_OTHERS
    ),
    "undecided-axes": Code(
        "Next to some stressors the program may lose nothing or much.", "Use a longer `--budget`."
    ),
    "noisy-profile": Code(
        "The losses in a profile span from nothing to all, so nothing follows from them.",
        "Use a longer `--budget`, or a quieter host.",
    ),
    "no-server-latency": Code(
        "The server's profile has no latency, so its percentiles follow from its rate alone.",
        "Profile the server with `--probe` and `--probe-address`.",
    ),
    "sum-of-jobs": Code(
        "A job may run next to the server alone, but not together with the jobs before it.",
        "Run it under `hindmost colocate supervise`, or put it first.",
    ),
    "different-placements": Code(
        "The two profiles were measured with different placements of the processors.",
        "Profile both programs with the same `--cpu` and `--other`.",
    ),
    "high-violation-rate": Code(
        "The known pairs are too few to promise so low a rate of violations, so the bound answers.",
        "Measure more pairs, or accept a higher `--violations`.",
    ),
    # Programs under measurement
    "program-ended": Code(
        "A program ended while it was being measured.", "Run the command by itself and look at its exit code."
    ),
    "program-not-started": Code("The operating system refused to start a program.", "Check its permissions."),
    "few-units": Code(
        "The program reported too few units of work.",
        "Print a line for each unit and flush it, or use `--work cpu` or `--counter`.",
    ),
    "short-run": Code(
        "One run of the program is so short that starting it takes most of the time.", "Give it more work."
    ),
    "long-run": Code("One run of the program takes too long to be a unit.", "Give it less work."),
    # Windows
    "few-windows": Code("Too few measurement windows were usable.", _STOP_OTHERS),
    "no-window-percentile": Code(
        "Latency next to the jobs could not be measured in enough windows.",
        "Use a longer `--budget` or a quieter host.",
    ),
    "few-requests": Code(
        "A window contains too few requests for this percentile.", "Use a longer window or a higher rate."
    ),
    "mixed-placements": Code(
        "The hypervisor moved the processors between windows, so the figures mix placements.",
        "Repeat the measurement, or use a host with pinned processors.",
    ),
    "clock-changed": Code(
        "A processor's clock frequency changed during some windows, which were excluded.",
        "Fix the frequency if too few windows remain.",
    ),
    "children-not-counted": Code(
        "The CPU time of child processes is not counted because perf_event_open is refused.",
        "Set `kernel.perf_event_paranoid` to 2 or lower.",
    ),
    "ordinary-threads": Code(
        "The stressors did not run in real time, so windows vary more.",
        "Allow SCHED_FIFO, or use a longer `--budget`.",
    ),
    # Stressors and cores
    "core-disturbed": Code("Other programs disturbed every measurement of this core.", _STOP_OTHERS),
    "core-shared": Code(
        "Another guest of this host used the same core in every measurement.",
        "Repeat later, or measure another processor with `--cpu`.",
    ),
    "no-sibling": Code(
        "The processor has no usable hardware thread on the same core.",
        "Leave out `--other`, or use a machine with two threads per core.",
    ),
    "ruler-unsupported": Code("The processor lacks an instruction that a stressor needs.", "Leave it out."),
    "ruler-unknown": Code(
        "There is no such stressor.", "List them with `hindmost colocate stressors --list`."
    ),
    "ruler-memory": Code("The kernel refused memory for a stressor.", "Free memory, or raise the limit."),
    "ruler-setup": Code("A stressor's socket or file could not be opened.", "Check permissions and space."),
    "ruler-processor": Code(
        "A stressor cannot run on this processor.", "Use a processor that this process may run on."
    ),
    "ruler-busy": Code("The host was too busy for a single undisturbed burst.", _STOP_OTHERS),
    # Supervision
    "needs-probe": Code(
        "This needs a probe: a log reports latency too late.", "Give an address for the probe."
    ),
    "job-contains-server": Code(
        "The job's process tree contains the server or this command.", "Name the batch job's own process."
    ),
    "fast-forks": Code(
        "A process creates children faster than they can be moved into a control group.", "Repeat later."
    ),
    "group-refused": Code(
        "The kernel refused to move a process into a control group.", "Run the command as root."
    ),
    "budget-used": Code(
        "Most of the slow requests that this window may have were used, so the job was cut.", "Nothing."
    ),
    "budget-spent": Code(
        "The slow requests that this window may have were nearly all used, so the job was paused.", "Nothing."
    ),
    "promise-broken": Code("A window broke the promise, so the job was paused.", "Nothing."),
    "quiet-windows": Code("Enough windows were well within the promise, so the job got more.", "Nothing."),
    # Kubernetes
    "server-would-lose": Code(
        "A server on the node would lose more than it may next to this job.", "Place the job elsewhere."
    ),
    "loss-unknown": Code(
        "The profiles cannot tell what a server on the node would lose, and the extender is strict.",
        "Profile the server and the job on the same kind of machine.",
    ),
    "little-headroom": Code(
        "The node's primary tenant leaves fewer cores than the pod requests.", "Place the pod elsewhere."
    ),
    "bad-share": Code(
        "A label or annotation of the node is not a share.", "Write it as a share, like `0.5` or `50%`."
    ),
    "bad-question": Code(
        "The request is not one that kube-scheduler sends to an extender.",
        "Check the scheduler's `extenders` configuration.",
    ),
    "judge-failed": Code("The extender failed to answer.", "Look at its log and its input files."),
    # Harvesting
    "few-readings": Code(
        "The traces have too few usable readings for this.", "Record longer traces, or use a longer `--slot`."
    ),
    "no-whole-trace": Code(
        "Too much of every trace is missing to tell a pattern.",
        "Check the clocks of the servers, or use a longer `--slot`.",
    ),
    "no-owner": Code("No server that has a trace belongs to a tenant.", "List the servers in `tenants.csv`."),
    "too-many-slots": Code(
        "Readings spread over so long a time that one of their clocks must be wrong.",
        "Correct the times, or set `--slot`.",
    ),
    "no-reimages": Code(
        "No tenant was ever reimaged, so no block can be lost.", "Add a column `reimages` to `tenants.csv`."
    ),
    "no-class": Code("No tenant has a class.", "Classify traces with fewer gaps."),
    "harvest-document": Code("The simulator cannot read this setting.", "Correct the setting."),
    "harvest-shape": Code("The traces do not fill the matrix of tenants and slots.", "Report this as a bug."),
    "harvest-short": Code("The traces are too short to have a pattern.", "Record longer traces."),
    "harvest-range": Code("A setting of the simulator is outside its range.", "Use a value in the range."),
    "harvest-long": Code(
        "The simulation would take more time than was recorded.", "Set fewer days, or record longer traces."
    ),
    "harvest-nothing": Code("There is no tenant or no server.", "Classify more traces."),
}
