"""Codes about clones: fitting, simulating, serving."""

from __future__ import annotations

from hindmost.core.codes.code import Code

CODES = {
    # Logs and studies that a clone is fitted to
    "short-log": Code("The log has too few requests for a fit.", "Log more requests at the same low load."),
    "constant-times": Code(
        "All times are equal, so there is nothing to fit.",
        "Check that the right column is read, or use a deterministic law.",
    ),
    "impossible-time": Code(
        "A time in the log is impossible for any server.",
        "Correct how the server writes the line in the message.",
    ),
    "wrong-unit": Code("The times are implausible in the given unit.", "Name the unit: ns, us, ms or s."),
    "too-many-kinds": Code(
        "The log has too many different kinds of request.", "Leave the column out, or merge kinds."
    ),
    "wrong-sources": Code(
        "This combination of logs and studies cannot be fitted.", "Use the sources in the hint."
    ),
    "incomplete-study": Code(
        "The study lacks a figure that the fit needs.", "Finish the study, or measure again."
    ),
    "no-wire-times": Code(
        "No request in the study has kernel time stamps for both directions.",
        "Measure again with --stamps 1.",
    ),
    "unsuitable-load": Code(
        "The study's load is unsuitable for this question.", "Measure at the rate in the hint."
    ),
    "unsaturated-server": Code(
        "The server was not busy in a study that should saturate it.",
        "Measure with more connections or clients.",
    ),
    "different-servers": Code(
        "The log and the study contradict each other, so they describe different servers.",
        "Record the log and the study at the same time.",
    ),
    "mostly-waiting": Code(
        "The times consist mostly of interference or waiting, not of the server's own work.",
        "Measure on a quiet host, or choose the time to fit with --demand.",
    ),
    # Documents, designs, questions
    "above-capacity": Code(
        "More requests arrive than the clone can serve, so the queue grows without bound.",
        "Lower the rate, add threads, or use --backlog.",
    ),
    "always-stopped": Code(
        "The clone's pauses leave no time to serve requests.", "Make the pauses shorter or less frequent."
    ),
    "too-many-points": Code(
        "A sweep has too many design points or values.", "Use fewer values, or --together."
    ),
    "uneven-lists": Code(
        "Parameters that vary together have different numbers of values.", "Leave out --together."
    ),
    "weights-not-one": Code(
        "The given weights or shares leave nothing, or too much, for the rest.",
        "Set weights that sum to less than 1.",
    ),
    "unknown-range": Code("The search range is unknown.", "Give --between LOW..HIGH."),
    "serving-failed": Code(
        "The clone's server failed.", "Read the server's message, then try another --address or --cpus."
    ),
    # Notes: which times were fitted
    "times-only": Code(
        "The log has only service times: no arrival times, CPU times or request kinds.",
        "Use a server's log to find pauses, load dependence and locks.",
    ),
    "no-cpu-times": Code(
        "The log has no CPU times, so interference is part of the service times.", "Log cpu_ns."
    ),
    "short-cpu-times": Code(
        "CPU times are too short for the CPU clock, so wall times were fitted.", "Nothing to do."
    ),
    "contaminated-tail": Code(
        "The tail of the wall times includes interference.", "Log on a quiet host, or log cpu_ns."
    ),
    "coarse-clock": Code(
        "The log's clock is too coarse to show the shape of short times.", "Log with a finer clock."
    ),
    "wire-service-times": Code(
        "Wire times include wake-ups and kernel work, and show neither arrival times nor request kinds.",
        "Let the server log its service times.",
    ),
    "unknown-network-time": Code(
        "The server's CPU time is unknown, and so is the network's share of the wire time.",
        "Measure on the server's host.",
    ),
    "unexplained-wire-time": Code(
        "Part of the wire time is neither CPU time nor network time.", "Let the server log its service times."
    ),
    "unknown-service-law": Code(
        "A saturated study shows only the mean service time, not its tail.",
        "Add a study at half load, or a server's log.",
    ),
    "unknown-wakeup-share": Code(
        "Wake-up time and network time cannot be separated.", "Let the server log its service times."
    ),
    "no-wakeup-time": Code(
        "The time outside the server is too short to detect among the service times.", "Nothing to do."
    ),
    "rare-kind": Code("A request kind is too rare for its own distribution.", "Log more requests."),
    "tail-misfit": Code(
        "A candidate law's tail differs from the sample's tail.", "Nothing to do: the fit rejects it."
    ),
    # Notes: order, load, pauses, threads
    "sorted-times": Code(
        "The times are sorted, so the order of requests is unknown.", "Provide the times in order of arrival."
    ),
    "drifting-log": Code(
        "Service times drift during the log, so the clone uses their average.",
        "Start logging when the server is warm, or log for a shorter time.",
    ),
    "unknown-kind-order": Code(
        "The clone draws request kinds independently, so its autocorrelation differs from the log's.",
        "Nothing to do.",
    ),
    "unknown-load-dependence": Code(
        "The logs do not show how service times depend on load.",
        "Provide logs at low, half and high load.",
    ),
    "no-load-dependence": Code("Service times do not depend on the load beyond chance.", "Nothing to do."),
    "unknown-turnaround": Code(
        "Too few requests waited in a queue to estimate how long a thread stays busy between services.",
        "Log at half the server's capacity.",
    ),
    "turnaround": Code("A thread stays busy for this time between two services.", "Nothing to do."),
    "few-pauses": Code(
        "There were too few pauses to fit a law, so the clone has no pauses.", "Log for longer."
    ),
    "unknown-pause-origin": Code(
        "The log does not show whether the host or the requests themselves cause the pauses.",
        "Log at moderate load, with arrivals stamped by a separate thread.",
    ),
    "no-idle-arrivals": Code(
        "No request arrived at an idle thread while all others were busy.", "Log at a lower load."
    ),
    "few-arrivals-in-pauses": Code("Too few requests arrived during pauses.", "Log for longer."),
    "unstamped-arrivals": Code(
        "The server does not stamp arrivals while it is paused or busy.",
        "Stamp arrivals in a separate thread.",
    ),
    "excluded-pauses": Code(
        "Pauses caused by the host were left out because the clone will run on the same host.",
        "Nothing to do.",
    ),
    "no-arrival-times": Code("The log has no arrival times, so latency is unknown.", "Log arrival_ns."),
    "unknown-sharing": Code(
        "The logs do not show whether threads compete for locks or memory.",
        "Provide logs with 1, 2 and 4 busy threads.",
    ),
    "no-sharing": Code("Threads do not slow each other down.", "Nothing to do."),
    "lock-found": Code("Every request holds a shared lock for this time.", "Nothing to do."),
    "stretch-found": Code(
        "Busy threads lengthen each other's service times by this share.", "Nothing to do."
    ),
    "lock-or-stretch": Code(
        "A shared lock and mutual slowdown explain the logs almost equally well.",
        "Provide logs with 2 and with 4 busy threads.",
    ),
    "unknown-lock-type": Code(
        "The logs show neither whether waiting threads spin or sleep, nor the number of locks.",
        "Set the lock's fields in the clone document.",
    ),
    "unexplained-sharing": Code(
        "Neither a shared lock nor mutual slowdown explains the logs with several threads.",
        "Check the clone with `hindmost clone verify`.",
    ),
    # Notes of a served clone
    "outside-not-served": Code(
        "A served clone does not add outside_us because the real network replaces it.",
        "Use `hindmost clone simulate` to include it.",
    ),
}
