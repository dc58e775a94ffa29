"""Codes of statistics, stored studies and Python results."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES = {
    # Study folders
    "no-such-study": Code("The folder holds no study.", "Check the path. `hindmost study list` shows all."),
    "study-exists": Code(
        "The folder already holds a study.",
        "Resume it with the command in the hint, or choose another --out.",
    ),
    "study-in-use": Code(
        "Another process is working in the study.", "Wait until it ends, or choose another --out."
    ),
    "folder-in-use": Code("The folder holds other files.", "Choose another --out."),
    "unsupported-format": Code(
        "Another version of Hindmost wrote this study or file.", "Read it with the version that wrote it."
    ),
    "damaged-run": Code(
        "The record of a run is missing or damaged.", "Move the run's folder away, then report again."
    ),
    "disk-full": Code(
        "The disk or the quota is full. Finished runs are kept.", "Free some space, then resume the study."
    ),
    # Python results
    "no-requests": Code(
        "The study stores no single requests.", "Measure again with `samples`, such as samples=20_000."
    ),
    "not-fitted": Code("The model has no data yet.", "Call fit(X, y) first."),
    # Whether a restarted server settles in another state
    "hysteresis-seen": Code(
        "After each restart the server settles in another state.", "Make more runs; longer runs do not help."
    ),
    "hysteresis-not-seen": Code("Restarts do not change latency.", "Nothing to do."),
    "hysteresis-few-runs": Code(
        "Too few runs or sections to tell hysteresis.", "Make as many runs as the message names."
    ),
    "hysteresis-fades": Code(
        "Runs differ for more than a third of a run, but the difference fades.", "Make longer runs."
    ),
    "hysteresis-not-restarted": Code(
        "Runs differ, but the server was not restarted between them.", "Let Hindmost start the server."
    ),
    "hysteresis-interference": Code(
        "Runs differ, but interference may explain it.", "Measure again on a quieter host."
    ),
    # Experiments on suspects
    "cause-shown": Code("Latency is better whenever this suspect is absent.", "Fix this cause first."),
    "no-cause-shown": Code(
        "No suspect that was tried explains the slowdown.",
        "Look at the application and at the servers that it calls.",
    ),
    "load-not-tried": Code(
        "A client is paused only after a replica showed that load is the cause.",
        "Compare the request rate with the usual one, or use --twin.",
    ),
    "load-or-code": Code(
        "The application has more work than normal: more requests, or slower code.",
        "Compare the request rate with the usual one, or try suspects on a replica: --twin.",
    ),
    "no-slowdown": Code("Latency is about normal.", "Run diagnose while latency is high."),
    "no-suspect": Code("No suspect could be tried.", "Allow more interventions in the policy."),
    "few-pairs": Code("Pairs differ too much for an answer.", "Ask for as many pairs as the message names."),
    "sham-effect": Code(
        "Latency changed although the experiment did nothing, so no result of it counts.",
        "Repeat the experiment when the host is quieter.",
    ),
    "reproduced": Code(
        "With this suspect the replica becomes as slow as the host.", "Fix this suspect first."
    ),
    "not-reproduced": Code(
        "No suspect makes the replica as slow as the host.",
        "Look at the application and at the servers that it calls.",
    ),
    "partly-reproduced": Code(
        "A suspect explains only a part of the slowdown, or other metrics moved.", "Look for a second cause."
    ),
    "slow-replica": Code(
        "The replica is slow without any suspect.",
        "Look at what both share: neighbours, interrupts, the network.",
    ),
    "dose-too-large": Code(
        "The experiment makes the replica far slower than the host.", "Repeat it with a smaller dose."
    ),
    # Signatures: metrics that move together with latency
    "no-free-metric": Code("The experiment sets every metric that is compared.", "Collect more metrics."),
    "few-normal-blocks": Code(
        "Too few normal blocks to compare with.", "Record normal operation for longer."
    ),
    "no-shift": Code("Metrics moved too little to compare them.", "Judge by latency alone."),
}
