"""Codes of clones: fitting, simulating, serving."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES = {
    # Logs and studies that a clone is fitted to
    "short-log": Code("The log has too few requests for a fit.", "Log more requests at the same low load."),
    "constant-times": Code(
        "All times are equal, so there is nothing to fit.", "Check the column, or write a deterministic law."
    ),
    "impossible-time": Code(
        "No server can have produced this time.", "Correct how the server writes the line that is named."
    ),
    "wrong-unit": Code("The times cannot be in the unit that was given.", "Name the unit: ns, us, ms or s."),
    "too-many-kinds": Code(
        "The log has too many different kinds of request.", "Leave the column out, or merge kinds."
    ),
    "wrong-sources": Code(
        "These logs and studies cannot be fitted together.", "Give the sources that the hint names."
    ),
    "incomplete-study": Code(
        "A study lacks a figure that the fit needs.", "Finish the study, or measure again."
    ),
    "no-wire-times": Code(
        "No request of the study has kernel time stamps both ways.", "Measure again with --stamps 1."
    ),
    "unsuitable-load": Code(
        "The study was made at a load that cannot answer this question.", "Measure at the rate of the hint."
    ),
    "unsaturated-server": Code(
        "The server was not busy in a study that should saturate it.",
        "Measure with more connections or clients.",
    ),
    "different-servers": Code(
        "Log and study contradict each other: they are not of the same server.",
        "Log and measure at the same time.",
    ),
    "mostly-waiting": Code(
        "The times are mostly interference or waiting, not work of the server.",
        "Measure on a quiet host, or say which time is meant with --demand.",
    ),
    # Documents, designs, questions
    "above-capacity": Code(
        "More requests arrive than the clone can serve, so the queue grows without end.",
        "Lower the rate, add threads, or use --backlog.",
    ),
    "always-stopped": Code(
        "The pauses of the clone leave no time to serve.", "Make them shorter or less frequent."
    ),
    "too-many-points": Code(
        "A sweep has too many design points or values.", "Use fewer values, or --together."
    ),
    "uneven-lists": Code(
        "Parameters that vary together have different numbers of values.", "Leave out --together."
    ),
    "weights-not-one": Code(
        "The weights or shares that are set leave nothing for the others, or too much.",
        "Set weights that sum to less than 1.",
    ),
    "unknown-range": Code("Nothing tells where to search.", "Give --between LOW..HIGH."),
    "serving-failed": Code(
        "The clone's server failed.", "Read the message; try another --address or --cpus."
    ),
    # Notes: which times were fitted
    "times-only": Code(
        "The log has service times alone, without moments, CPU times and kinds.",
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
        "The clock's steps are coarse, so finer shapes are unknown.", "Log with a finer clock."
    ),
    "wire-service-times": Code(
        "Wire times include wake-ups and kernel work; they tell neither moments nor kinds.",
        "Let the server log its service times.",
    ),
    "unknown-network-time": Code(
        "The server's CPU time is unknown, so is the network's part of the wire time.",
        "Measure on the server's host.",
    ),
    "unexplained-wire-time": Code(
        "Part of the wire time is neither CPU time nor network time.", "Let the server log its service times."
    ),
    "unknown-service-law": Code(
        "A saturated study tells the mean service time; its tail is unknown.",
        "Add a study at half load, or a server's log.",
    ),
    "unknown-wakeup-share": Code(
        "Wake-up time and network time cannot be told apart.", "Let the server log its service times."
    ),
    "no-wakeup-time": Code(
        "The time before and after the server is too short to be seen next to the services.", "Nothing to do."
    ),
    "rare-kind": Code("A kind of request is too rare for a law of its own.", "Log more requests."),
    "tail-misfit": Code("A law does not have the tail of the samples.", "Nothing to do: it is not chosen."),
    # Notes: order, load, pauses, threads
    "sorted-times": Code("The times are sorted, so the order of requests is unknown.", "Give them unsorted."),
    "drifting-log": Code(
        "Service times rise or fall over a log, so the clone has an average of them.",
        "Log once the server is warm, or for a shorter time.",
    ),
    "unknown-kind-order": Code(
        "The clone draws kinds independently, so its autocorrelation is not that of the log.",
        "Nothing to do.",
    ),
    "unknown-load-dependence": Code(
        "The logs do not tell how service times depend on the load.",
        "Give logs at low, half and high load.",
    ),
    "no-load-dependence": Code("Service times do not depend on the load beyond chance.", "Nothing to do."),
    "unknown-turnaround": Code(
        "Too few requests waited to tell how long a thread is busy between services.",
        "Log at half of the capacity.",
    ),
    "turnaround": Code("A thread is busy for this long between services.", "Nothing to do."),
    "few-pauses": Code("There were too few pauses for a law, so the clone has none.", "Log for longer."),
    "unknown-pause-origin": Code(
        "The log does not tell whether pauses come from the host or from the requests themselves.",
        "Log arrivals at moderate load, stamped by another thread.",
    ),
    "no-idle-arrivals": Code(
        "No request arrived at an idle thread while all others were busy.", "Log at a lower load."
    ),
    "few-arrivals-in-pauses": Code("Too few requests arrived during pauses.", "Log for longer."),
    "unstamped-arrivals": Code(
        "Arrivals are not stamped while the server is paused or busy.", "Stamp arrivals in another thread."
    ),
    "excluded-pauses": Code(
        "Pauses by the host were left out, because the clone will run on the same host.", "Nothing to do."
    ),
    "no-arrival-times": Code("The log has no arrival times, so latency is unknown.", "Log arrival_ns."),
    "unknown-sharing": Code(
        "The logs do not tell whether threads share locks or memory.", "Give logs of 1, 2 and 4 busy threads."
    ),
    "no-sharing": Code("Threads do not slow each other down.", "Nothing to do."),
    "lock-found": Code("Requests hold a common lock for this long.", "Nothing to do."),
    "stretch-found": Code("Busy threads lengthen each other's services by this share.", "Nothing to do."),
    "lock-or-stretch": Code(
        "A lock and a stretch explain the logs almost equally well.",
        "Give logs of 2 and of 4 busy threads.",
    ),
    "unknown-lock-type": Code(
        "The logs do not tell whether waiters spin or sleep, nor how many locks there are.",
        "Set the lock's fields by hand.",
    ),
    "unexplained-sharing": Code(
        "Neither lock nor stretch explains the logs of several threads.", "Verify the clone."
    ),
    # Notes of a server of a clone
    "outside-not-served": Code(
        "The server of a clone does not add outside_us: the real network takes its place.",
        "Use simulate to include it.",
    ),
}
