"""Codes about runs: reasons of verdicts, notes, and why a run is excluded."""

from __future__ import annotations

from hindmost.core.codes.code import Code

_QUIETER = (
    "Use a quieter machine, or give the server and the clients their own CPUs. See `hindmost host doctor`."
)
_CLIENTS = "Lower the rate, or use more clients, each on its own CPU."

CODES = {
    # Verdict reasons: interference on this machine
    "excluded-runs": Code("Runs were excluded because of interference. They are kept and shown.", _QUIETER),
    "steal-time": Code("The hypervisor took CPU time from the server or from a client.", _QUIETER),
    "run-delay": Code("A client waited for its CPU while other threads used it.", _QUIETER),
    "context-switches": Code("The kernel took a spinning client off its CPU too often.", _QUIETER),
    "throttled": Code(
        "A cgroup CPU quota stopped a client until the end of a period.", "Raise or remove the quota."
    ),
    "interrupts": Code(
        "Interrupts used more than 1 % of a client's CPU.", "Move the device's interrupts to another CPU."
    ),
    "noisy-host": Code("`hindmost host doctor` found too much interference before the first run.", _QUIETER),
    "host-setting": Code(
        "`hindmost host doctor` found a setting that makes this machine unfit to measure.",
        "Change the setting.",
    ),
    "not-pinned": Code(
        "This process may not choose CPUs, so the server and the clients disturb each other.",
        "Allow sched_setaffinity in the container's seccomp profile.",
    ),
    "settings-left": Code(
        "An earlier command had left settings of this machine changed when the study began.",
        "Restore them with `hindmost host knobs restore`.",
    ),
    # Verdict reasons: the clients
    "late-sends": Code(
        "Requests were sent late, and send delay is more than 10 % of a percentile.", _CLIENTS
    ),
    "arrivals-differ": Code("Actual send times deviate from the requested arrival process.", _CLIENTS),
    "schedule-differs": Code(
        "The engine's schedule deviates from the requested arrival process.",
        "Check that the engine and the package have the same version, then report a bug.",
    ),
    "client-busy": Code("A client is so busy that requests may wait in its own queue.", _CLIENTS),
    "client-reads-slowly": Code(
        "Replies filled a client's receive buffer before the client read them.", _CLIENTS
    ),
    "sleeping-clients": Code(
        "Clients sleep between sends instead of spinning, which adds send delay.",
        "Use fewer clients than CPUs, so that each can spin.",
    ),
    "slow-client": Code(
        "One client measures higher latency than the others.", "Check that client's link and load."
    ),
    "dominant-client": Code(
        "Most of the slowest requests belong to one client.",
        "Use the mean of the clients' percentiles, not the merged percentiles.",
    ),
    "worker-active": Code(
        "A load host's control process was active while the host measured.",
        "Use `--fleet` with workers that Hindmost starts.",
    ),
    # Verdict reasons: the server
    "rate-not-reached": Code(
        "Fewer requests were sent and answered in time than requested.",
        "Lower the rate, or find the highest sustainable rate with `--find-rate`.",
    ),
    "server-stalled": Code(
        "The server answered on no connection for a while, then on all of them.",
        "Check the server's log at that time.",
    ),
    "unanswered": Code(
        "Requests timed out or could not be sent; their latency counts as infinite.",
        "Lower the rate, or check the server's log.",
    ),
    "errors": Code("The server answered requests with errors.", "Check the server's log."),
    "unreadable-replies": Code(
        "The server sent data that is no valid reply, or replies without a request.",
        "Check the first bytes and the server's log.",
    ),
    "empty-replies": Code(
        "Replies had no message, although `--stream` measures the messages of replies.",
        "Request a stream, or leave out `--stream`.",
    ),
    "cut-sessions": Code(
        "The end of the measurement cut sessions off; they count as infinitely long.",
        "Use a longer `--duration`, so that half of it is longer than a session.",
    ),
    "misses": Code(
        "The server did not have the requested keys or pages.",
        "Request existing items, or give the server more memory.",
    ),
    "not-steady": Code("Latency was still changing at the end of the warm-up.", "Use a longer `--warmup`."),
    "above-calibration": Code(
        "Latencies exceed the range found by the calibration.", "Use a longer `--warmup`."
    ),
    "server-reads-slowly": Code(
        "The server reads requests more slowly than they arrive.", "Lower the rate, or use more connections."
    ),
    "accept-queue": Code(
        "The server had not accepted all connections when the measurement began.",
        "Give the server more threads, or use fewer connections.",
    ),
    "dropped-connections": Code(
        "The kernel dropped connections because an accept queue was full.",
        "Make the accept queue longer (`listen` backlog and net.core.somaxconn).",
    ),
    "connection-per-request": Code(
        "The server closes each connection after its reply, so latency includes connecting.",
        "Enable keep-alive, unless users connect for each request.",
    ),
    "reconnections": Code(
        "The server closed connections during the load.", "Configure the server to keep connections open."
    ),
    "uneven-connections": Code(
        "A worker did not spread requests evenly over its connections.", "Report a bug with the manifest."
    ),
    # Verdict reasons: the network
    "retransmissions": Code(
        "TCP segments of the clients' connections were retransmitted.", "Find out which device drops packets."
    ),
    "other-retransmissions": Code(
        "TCP segments were retransmitted in the same network namespace, by an unknown process.",
        "Find out which device drops packets.",
    ),
    # Verdict reasons: the sample
    "wide-intervals": Code("Intervals are wider than the requested precision.", "Add runs."),
    "quick-look": Code("`--quick` makes few short runs, so intervals are wide.", "Leave out `--quick`."),
    "few-samples": Code(
        "Runs have too few requests above a percentile.",
        "Use longer runs, a higher rate or lower percentiles.",
    ),
    "two-states": Code("Runs form two groups with different latency.", "See the chart of runs."),
    "drift": Code("Latency changes with the order of runs.", "Repeat later; see `hindmost host doctor`."),
    # Verdict reasons: the method
    "not-restarted": Code(
        "The server was not restarted between runs, so hysteresis cannot be detected.",
        "Let Hindmost start the server.",
    ),
    "closed-loop": Code(
        "A closed loop waits for replies before it sends, so it understates the tail.",
        "Leave out `--closed`.",
    ),
    # Verdict reasons: time stamps and packet capture
    "no-time-stamps": Code(
        "There are no kernel time stamps, so there is no wire latency.", "Use `--verify-wire`."
    ),
    "clock-steps": Code(
        "The system clock was set during the measurement.", "Configure the time daemon to slew the clock."
    ),
    "no-capture": Code("Packets could not be captured.", "Follow the hint, or leave out `--verify-wire`."),
    "capture-incomplete": Code(
        "A packet capture lacks packets or requests, so it is no evidence.",
        "Use a lower rate or shorter runs.",
    ),
    "capture-differs": Code(
        "The difference between measured latency and the packet capture's is not constant.",
        "Use the wire latency.",
    ),
    # Why there is no isolated latency
    "shared-cpus": Code(
        "A client is allowed to run on the server's CPUs.", "Give the clients and the server separate CPUs."
    ),
    "unknown-server-cpus": Code("The server's CPUs are not known.", "Measure on the server's own machine."),
    "no-sentinel": Code("No sentinel watched the server's CPUs.", "Use `--sentinel auto`."),
    "uncertain-interference": Code(
        "It is uncertain whether the sentinel's waits were interference, and the result depends on it.",
        "Give the sentinel real-time priority (root, or CAP_SYS_NICE).",
    ),
    "cpu-neighbors": Code(
        "Other programs used the server's CPUs at normal priority.", "Move them to other CPUs."
    ),
    "too-many-interruptions": Code(
        "There were more interruptions than could be recorded.", "Use a quieter machine or shorter runs."
    ),
    "clock-mismatch": Code(
        "The sentinel did not record the whole measurement.", "Run the clients and the server on one machine."
    ),
    "empty-sample": Code("No request of a run was answered.", "Check the server's log."),
    "unknown-cpu-time": Code(
        "The server's CPU time is not known.",
        "Measure a server on this machine, with rights to see its process.",
    ),
    "high-utilization": Code(
        "The server is so busy that the backlog after an interruption hardly drains.", "Use a lower rate."
    ),
    "few-counted-requests": Code("Too few requests are free of interference.", "Use a quieter machine."),
    "few-quiet-spells": Code("Too few periods are free of interference.", "Make more or longer runs."),
    "dependent-interruptions": Code(
        "Interruptions depend on the server's own work.",
        "Remove its CPU quota, or move other work off its CPUs.",
    ),
    # Undecided limits
    "limit-in-interval": Code("The interval of a figure includes the limit.", "Add runs."),
    "no-interval": Code("There are too few runs for an interval.", "Add runs."),
    "unmeasured-request": Code(
        "No run has a request with the name used in a limit.", "Write the name as it appears in the results."
    ),
    "beyond-limit": Code("A lower percentile already exceeds the limit.", "Nothing to do."),
    "no-isolated-latency": Code(
        "A limit or objective needs isolated latency, which is unknown here.", "Follow the hint."
    ),
    "no-messages": Code(
        "A limit is on the messages of replies, and there are none.",
        "Check that the request asks for a stream.",
    ),
    "no-sessions": Code(
        "A limit is on sessions, and none began in the first half of a measurement.",
        "Use a longer `--duration` or a higher `--rate`.",
    ),
    # Steps of a search for the highest rate
    "holds": Code("All intervals are below their limits.", "Nothing to do."),
    "fails": Code("An interval is above its limit.", "Nothing to do."),
    "undecided": Code("An interval still includes its limit after all runs.", "Allow more runs."),
    "disturbed-runs": Code("Too many runs were excluded because of interference.", _QUIETER),
    # Runs and studies
    "server-died": Code("The server ended during a run.", "Start the server by hand to see why."),
    "cannot-trace": Code("The server cannot be traced from here.", "Leave out `--trace`."),
    "part-of-study": Code(
        "The folder is a part of a larger study.", "Resume the larger study with the command in the hint."
    ),
    "repeats-spent": Code(
        "Interference affected more runs than may be repeated.",
        "Use a quieter machine, or raise `--remake`.",
    ),
    "keys-removed": Code("The workload stores keys, and removes them after each run.", "Nothing to do."),
    "keys-kept": Code("The workload stores keys, and leaves them on the server.", "Set `clean_up` to true."),
    "keys-left": Code("Stored keys may still be on the server.", "Run `hindmost load --clean-up STUDY`."),
    "fixed-option": Code(
        "An option differs from the study that is resumed.", "Leave it out, or start a new study."
    ),
}
