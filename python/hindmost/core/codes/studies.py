"""Codes about attribution, comparison, trials, batching and verification."""

from __future__ import annotations

from hindmost.core.codes.code import Code

CODES: dict[str, Code] = {
    # Options and targets
    "study-differs": Code(
        "The study was started with other settings, so its runs and new runs would not be comparable.",
        "Use another --out, or the study's own settings.",
    ),
    "needs-managed-target": Code(
        "The server already runs, but this command must start it for every run.",
        "Use a preset, or a target file with the command that starts the server.",
    ),
    "conflicting-factors": Code(
        "Two factors, or a factor and the fleet file, set the same thing.",
        "Combine them into one factor, or leave one out.",
    ),
    "server-elsewhere": Code(
        "The option changes this host, but the server runs on another one.",
        "Leave out the option, and change the setting on the server's host.",
    ),
    "no-capacity": Code(
        "The clone has no service time, so its capacity is unlimited.", "Use a clone with a service time."
    ),
    "no-request-costs": Code(
        "The study lacks the CPU time per request of the original server.",
        "Measure again with a server that logs its service times.",
    ),
    "push-failed": Code(
        "A collector of metrics could not be reached, or did not take a study's figures.",
        "Check the URL and the collector's log.",
    ),
    # Stored runs
    "no-finished-runs": Code("The study has no finished run or no finished round.", "Resume the study."),
    "wrong-study-kind": Code("The study is of a different kind.", "Use the command in the hint."),
    # Reasons and notes of an attribution
    "failed-cell": Code(
        "A cell has no result: its runs failed, or the server was overloaded.",
        "Lower the rate, or remove the level.",
    ),
    "interference": Code(
        "The hypervisor or other processes used the CPUs of the server or the clients.",
        "Nothing to do: the figures are isolated latency, unless the note says otherwise.",
    ),
    "distorted-runs": Code(
        "Many runs were distorted and excluded.", "Run `hindmost host doctor`, or use a quieter host."
    ),
    "few-cell-runs": Code(
        "A cell has few runs. If runs form two groups, its intervals are too narrow.", "Run more blocks."
    ),
    "control-drift": Code(
        "The control changed between blocks, so conditions on the host changed.",
        "Run `hindmost host doctor`. Blocks remove most of the drift from comparisons.",
    ),
    "model-misfit": Code(
        "A cell deviates from the model: interactions that it leaves out are not zero.",
        "Use a full factorial, with fewer factors if it takes too long.",
    ),
    "undecided-factors": Code(
        "The runs do not show whether these factors change latency.", "Run more blocks."
    ),
    "run-failed": Code("A run failed.", "Read the message of the failed run."),
    "confirmation-skipped": Code("The study file skips the confirmation.", "Remove `skip = true`."),
    "no-fresh-runs": Code("The recommended setting has no confirmation runs.", "Resume the study."),
    "no-clean-pair": Code("Every pair of confirmation runs was distorted.", "Use a quieter host."),
    "infinitely-late": Code(
        "So many requests were never answered that this percentile is infinite.", "Lower the rate."
    ),
    # Notes of an explanation
    "not-traced": Code(
        "This server's requests cannot be traced, so the stages of the tail and their causes are unknown.",
        "Run as root, or with CAP_BPF and CAP_PERFMON, on the server's host.",
    ),
    "not-tried": Code(
        "A candidate change is impossible on this host or server, so it was not tested.",
        "Run as root, or use a preset or target file so that Hindmost can restart the server.",
    ),
    # Reasons of a comparison
    "side-not-valid": Code(
        "One of the measurements is not valid on its own.", "Read its report, or repeat that measurement."
    ),
    "excluded-rounds": Code(
        "Every round had interference. Latency contains it; isolated latency leaves it out.",
        "Use a quieter host.",
    ),
    "measured-apart": Code(
        "The measurements were made hours apart, so the host may have changed.",
        "Alternate both with `hindmost compare --live`.",
    ),
    "different-loads": Code(
        "The measurements were made under different loads, so their latencies answer different questions.",
        "Measure both under the same load, or add `--anyway`.",
    ),
}
