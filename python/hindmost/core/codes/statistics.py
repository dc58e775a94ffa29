"""Codes about statistics, stored studies and Python results."""

from __future__ import annotations

from hindmost.core.codes.code import Code

CODES = {
    # Study folders
    "no-such-study": Code(
        "The folder contains no study.", "Check the path. `hindmost study list` lists all studies."
    ),
    "study-exists": Code(
        "The folder already contains a study.",
        "Resume it with the command in the hint, or choose another --out.",
    ),
    "study-in-use": Code(
        "Another process is working in the study.", "Wait until it ends, or choose another --out."
    ),
    "folder-in-use": Code("The folder contains other files.", "Choose another --out."),
    "unsupported-format": Code(
        "A different version of Hindmost wrote this study or file.", "Read it with the version that wrote it."
    ),
    "damaged-run": Code(
        "The record of a run is missing or damaged.", "Move the run's folder away, then run the report again."
    ),
    "disk-full": Code(
        "The disk or the quota is full. Finished runs are kept.", "Free some space, then resume the study."
    ),
    # Python results
    "no-requests": Code(
        "The study stores no single requests.", "Measure again with `samples`, for example `samples=20_000`."
    ),
    "not-fitted": Code("The model is not fitted.", "Call `fit(X, y)` first."),
    # Hysteresis: whether a restarted server settles in another state
    "hysteresis-seen": Code(
        "After each restart the server settles in another state.", "Make more runs; longer runs do not help."
    ),
    "hysteresis-not-seen": Code("Restarts do not change latency.", "Nothing to do."),
    "hysteresis-few-runs": Code(
        "There are too few runs or sections to detect hysteresis.", "Make the number of runs in the message."
    ),
    "hysteresis-fades": Code(
        "Runs differ for more than a third of their length, but the difference fades.", "Make longer runs."
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
        "None of the tested suspects explains the slowdown.",
        "Look at the application and at the servers that it calls.",
    ),
    "upstream-slow": Code(
        "Requests wait for a backend of the application for most of the slowdown.",
        "Diagnose that backend; experiments never touch it.",
    ),
    "load-not-tried": Code(
        "Load was not tested: clients are paused only after a replica shows that load is the cause.",
        "Compare the request rate with the usual one, or use `--replica`.",
    ),
    "load-or-code": Code(
        "The application has more work than usual: more requests, or slower code.",
        "Compare the request rate with the usual one, or test suspects on a replica with `--replica`.",
    ),
    "no-slowdown": Code("Latency is about normal.", "Run `hindmost diagnose` while latency is high."),
    "no-suspect": Code("No suspect could be tested.", "Allow more interventions in the policy."),
    "few-pairs": Code(
        "The pairs vary too much for an answer.", "Request the number of pairs in the message."
    ),
    "sham-effect": Code(
        "Latency changed in the sham experiment, which changes nothing, so no result counts.",
        "Repeat the experiment when the host is quieter.",
    ),
    "reproduced": Code(
        "With this suspect, the replica becomes as slow as the application on the host.",
        "Fix this suspect first.",
    ),
    "not-reproduced": Code(
        "No suspect makes the replica as slow as the application on the host.",
        "Look at the application and at the servers that it calls.",
    ),
    "partly-reproduced": Code(
        "A suspect explains only part of the slowdown, or moves other metrics than the slowdown does.",
        "Look for a second cause.",
    ),
    "slow-replica": Code(
        "The replica is slow without any suspect.",
        "Check what the replica and the application share: neighbours, interrupts, the network.",
    ),
    "dose-too-large": Code(
        "The experiment makes the replica far slower than the application on the host.",
        "Repeat the experiment with a smaller dose.",
    ),
    # Signatures: metrics that move together with latency
    "no-free-metric": Code(
        "The experiment itself controls every compared metric, so none can confirm it.",
        "Collect more metrics.",
    ),
    "few-normal-blocks": Code(
        "There are too few normal blocks to compare with.", "Record normal operation for longer."
    ),
    "no-shift": Code("The metrics moved too little for a comparison.", "Rely on latency alone."),
}
