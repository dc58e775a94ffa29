"""Codes of runs: verdict reasons, notes, and why a run does not count."""

from __future__ import annotations

from hindmost.codes.code import Code

_QUIETER = "Use a quieter machine, or give server and clients CPUs of their own; see `hindmost host doctor`."
_CLIENTS = "Lower the rate, or use more clients, each with a CPU of its own."

CODES = {
    # Verdict reasons: interference on this machine
    "excluded-runs": Code("Runs do not count because of interference; they are kept and shown.", _QUIETER),
    "steal-time": Code("The hypervisor took CPU time from the server or a client.", _QUIETER),
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
    "settings-left": Code(
        "Settings of this machine were still changed when the study began.",
        "Restore them with `hindmost host knobs restore`.",
    ),
    # Verdict reasons: the clients
    "late-sends": Code("Requests were sent late, which accounts for more than 10 % of a latency.", _CLIENTS),
    "arrivals-differ": Code("Actual send times deviate from the requested arrival process.", _CLIENTS),
    "schedule-differs": Code(
        "The engine scheduled requests by another arrival process than requested.",
        "Check that engine and package have the same version, then report a bug.",
    ),
    "client-busy": Code(
        "A client worked so much of the time that its own queue can delay requests.", _CLIENTS
    ),
    "client-reads-slowly": Code("Replies filled a client's receive buffer before it read them.", _CLIENTS),
    "sleeping-clients": Code(
        "Clients sleep between sends instead of spinning, which adds send delay.",
        "Use fewer clients than CPUs, so that each can spin.",
    ),
    "slow-client": Code(
        "One client measures higher latency than the others.", "Check its link and its load."
    ),
    "dominant-client": Code(
        "One client contributes most of the slowest requests.",
        "Use the means per client, not the merged ones.",
    ),
    "worker-active": Code(
        "The process that talks to the controller was active while its host measured.",
        "Use `--fleet` with workers of Hindmost's own.",
    ),
    # Verdict reasons: the server
    "rate-not-reached": Code(
        "Fewer requests were sent and answered in time than requested.",
        "Lower the rate, or find the highest one with `--find-rate`.",
    ),
    "server-stalled": Code(
        "The server answered no connection for a while, then all of them.", "Look at its log at that time."
    ),
    "unanswered": Code(
        "Requests timed out or could not be sent; their latency counts as infinite.",
        "Lower the rate, or look at the server's log.",
    ),
    "errors": Code("The server answered requests with errors.", "Look at the server's log."),
    "unreadable-replies": Code(
        "The server sent what is no reply, or what no request had asked for.",
        "Look at the first bytes, and at the server's log.",
    ),
    "misses": Code("The server did not have what was requested.", "Request what exists, or add memory."),
    "not-steady": Code("Latency was still changing when the warm-up had to end.", "Use a longer `--warmup`."),
    "above-calibration": Code(
        "Latencies exceed the range that the calibration found.", "Use a longer `--warmup`."
    ),
    "server-reads-slowly": Code(
        "The server reads requests more slowly than they arrive.", "Lower the rate, or use more connections."
    ),
    "accept-queue": Code(
        "The server had not accepted all connections when the measurement began.",
        "Give the server more threads, or use fewer connections.",
    ),
    "dropped-connections": Code(
        "The kernel dropped connections because an accept queue was full.", "Use a longer accept queue."
    ),
    "connection-per-request": Code(
        "The server closes each connection after its reply, so latency includes connecting.",
        "Enable keep-alive, unless users connect for each request.",
    ),
    "reconnections": Code(
        "The server closed connections during the load.", "Let the server keep connections open."
    ),
    "uneven-connections": Code(
        "Requests were not spread evenly over a worker's connections.", "Report a bug with the manifest."
    ),
    # Verdict reasons: the network
    "retransmissions": Code(
        "TCP segments of the clients' connections were retransmitted.", "Find out which device drops packets."
    ),
    "other-retransmissions": Code(
        "TCP segments were retransmitted in the same network namespace, it is not known by whom.",
        "Find out which device drops packets.",
    ),
    # Verdict reasons: the sample
    "wide-intervals": Code("Intervals are wider than the requested precision.", "Add runs."),
    "quick-look": Code("A quick look has few short runs, so its intervals are wide.", "Leave out `--quick`."),
    "few-samples": Code(
        "A run has too few requests above a percentile.",
        "Use longer runs, a higher rate or lower percentiles.",
    ),
    "two-states": Code("Runs form two groups with different latency.", "Look at the chart of runs."),
    "drift": Code("Latency changes with the order of runs.", "Repeat later; see `hindmost host doctor`."),
    # Verdict reasons: the method
    "not-restarted": Code(
        "The server was not restarted between runs, so hysteresis cannot be seen.", "Let Hindmost start it."
    ),
    "closed-loop": Code(
        "A closed loop waits for replies before it sends, so it understates the tail.",
        "Leave out `--closed`.",
    ),
    # Verdict reasons: time stamps and packet capture
    "no-time-stamps": Code("There are no kernel time stamps, so no wire latency.", "Use `--verify-wire`."),
    "clock-steps": Code(
        "The time of day was set during the measurement.", "Let the time daemon slew the clock."
    ),
    "no-capture": Code(
        "Packets could not be captured.", "Do what the hint says, or leave out `--verify-wire`."
    ),
    "capture-incomplete": Code(
        "A packet capture lacks packets or requests, so it proves nothing.",
        "Use a lower rate or shorter runs.",
    ),
    "capture-differs": Code(
        "A latency does not differ from the packet capture's by a constant.", "Use the wire latency."
    ),
    # Why there is no isolated latency
    "shared-cpus": Code("A client may run on the server's CPUs.", "Give each CPUs of its own."),
    "unknown-server-cpus": Code("The server's CPUs are not known.", "Measure on the server's own machine."),
    "no-sentinel": Code("Nothing watched the server's CPUs.", "Use `--sentinel auto`."),
    "uncertain-interference": Code(
        "It is not certain whether the sentinel's waits were interference, and it matters.",
        "Give the sentinel real-time priority (root, or CAP_SYS_NICE).",
    ),
    "cpu-neighbors": Code(
        "Other programs used the server's CPUs at normal priority.", "Move them to other CPUs."
    ),
    "too-many-interruptions": Code(
        "There were more interruptions than could be recorded.", "Use a quieter machine or shorter runs."
    ),
    "clock-mismatch": Code(
        "The sentinel's clock does not cover the measurement.", "Run clients and server on one machine."
    ),
    "empty-sample": Code("A run answered no request.", "Look at the server's log."),
    "unknown-cpu-time": Code(
        "The server's CPU time is not known.", "Measure a server on this machine whose process can be seen."
    ),
    "high-utilization": Code(
        "The server is so busy that backlogs from interruptions hardly drain.", "Use a lower rate."
    ),
    "few-counted-requests": Code("Too few requests are free of interference.", "Use a quieter machine."),
    "few-quiet-spells": Code("Too few spells are free of interference.", "Make more or longer runs."),
    "dependent-interruptions": Code(
        "Interruptions follow the server's own work.", "Lift its quota, or move other work off its CPUs."
    ),
    # Limits that stay undecided
    "limit-in-interval": Code("The interval of a figure includes the limit.", "Add runs."),
    "no-interval": Code("Too few runs for an interval.", "Add runs."),
    "unmeasured-request": Code(
        "No run has a request of the name in a limit.", "Write the name as results show it."
    ),
    "beyond-limit": Code("A lower percentile is beyond the limit already.", "None needed."),
    "no-isolated-latency": Code(
        "A limit or objective needs isolated latency, which is not known here.", "Do what the hint says."
    ),
    # Steps of a search for a rate
    "holds": Code("All intervals are below their limits.", "None needed."),
    "fails": Code("An interval is above its limit.", "None needed."),
    "undecided": Code("An interval still includes its limit after all runs.", "Allow more runs."),
    "disturbed-runs": Code("Interference disturbed too many runs.", _QUIETER),
    # Runs and studies
    "server-died": Code("The server ended during a run.", "Start it by hand to see why."),
    "cannot-trace": Code("The server cannot be traced from here.", "Leave out `--trace`."),
    "part-of-study": Code(
        "The folder is a part of a larger study.", "Resume the larger study, as the hint says."
    ),
    "repeats-spent": Code(
        "As many runs were repeated because of interference as may be.",
        "Use a quieter machine, or `--remake`.",
    ),
    "keys-removed": Code("The workload stores keys, and removes them after each run.", "None needed."),
    "keys-kept": Code("The workload stores keys, and leaves them on the server.", "Set `clean_up` to true."),
    "keys-left": Code("Stored keys may still be on the server.", "Run `hindmost load --clean-up STUDY`."),
    "fixed-option": Code(
        "An option cannot change when a study is resumed.", "Leave it out, or start a new study."
    ),
}
