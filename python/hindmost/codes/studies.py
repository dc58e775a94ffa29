"""Codes of attribution, comparison, trials, batching and verification."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES: dict[str, Code] = {
    # What was asked
    "study-differs": Code(
        "The study was begun with other settings, so its runs and new ones would not be alike.",
        "Use another --out, or the settings that the study was begun with.",
    ),
    "needs-managed-target": Code(
        "The server runs already, but this command must start it for every run.",
        "Name a preset, or a target file with the command that starts the server.",
    ),
    "conflicting-factors": Code(
        "Two factors, or a factor and the fleet file, set the same thing.",
        "Join them into one factor, or leave one out.",
    ),
    "server-elsewhere": Code(
        "The option changes this host, but the server runs on another one.",
        "Leave the option out, and change the setting on the server's host.",
    ),
    "no-capacity": Code(
        "The clone does nothing that takes time, so it has no capacity.", "Use a clone with a service time."
    ),
    "no-request-costs": Code(
        "The study does not say how much CPU time a request of the original took.",
        "Measure again with a server that logs its services.",
    ),
    # What is stored
    "no-finished-runs": Code("The study has no finished run, or no finished round.", "Resume the study."),
    "wrong-study-kind": Code("The study is of another kind.", "Use the command that the hint names."),
    # Reasons and notes of an attribution
    "failed-cell": Code(
        "A setting has no figure: its runs failed, or the server was overloaded.",
        "Lower the rate, or leave out the level.",
    ),
    "interference": Code(
        "The hypervisor or other processes used the CPUs of server or clients.",
        "Nothing: the figures are isolated latency, unless the note says otherwise.",
    ),
    "distorted-runs": Code(
        "Many runs were distorted and do not count.", "Look at `hindmost host doctor`, or use a quieter host."
    ),
    "few-cell-runs": Code(
        "A setting has few runs; intervals are too short if runs come in two kinds.", "Make more blocks."
    ),
    "control-drift": Code(
        "The control changed from block to block: the host was not the same throughout.",
        "Look at `hindmost host doctor`; blocks remove most of the drift from comparisons.",
    ),
    "undecided-factors": Code(
        "The runs do not decide whether these factors change the latency.", "Make more blocks."
    ),
    "run-failed": Code("An attempt at a run failed.", "Look at the message of the failure."),
    "confirmation-skipped": Code("The study file skips the confirmation.", "Remove `skip = true`."),
    "no-fresh-runs": Code("No fresh runs of the recommended setting were made.", "Resume the study."),
    "no-clean-pair": Code("Every pair of fresh runs was distorted.", "Use a quieter host."),
    "infinitely-late": Code(
        "Requests were never answered, so this percentile has no value.", "Lower the rate."
    ),
    # Notes of an explanation
    "not-traced": Code(
        "Requests of this server cannot be traced, so the parts of the tail and its culprits are not known.",
        "Run as root, or with CAP_BPF and CAP_PERFMON, on the server's host.",
    ),
    "not-tried": Code(
        "A candidate change cannot be made on this host or server, so it was not tried.",
        "Run as root, or name a preset or target file that can be started again.",
    ),
    # Reasons of a comparison
    "side-not-valid": Code(
        "One of the measurements is not valid by itself.", "Look at its report, or measure it again."
    ),
    "excluded-rounds": Code(
        "Interference disturbed every round, so all of them count.", "Use a quieter host."
    ),
    "measured-apart": Code(
        "Hours lie between the measurements, so the host may have changed.",
        "Measure both in turn with `hindmost compare --live`.",
    ),
    "different-loads": Code(
        "The measurements were made under different loads, so their latencies answer different questions.",
        "Measure both under the same load, or add --anyway.",
    ),
}
