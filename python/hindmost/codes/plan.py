"""Codes of options, plans, workloads, targets, settings, designs and packet captures."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES = {
    # The command line
    "root-not-needed": Code(
        "A server at a URL is measured as root, which takes none of root's rights.",
        "Run the command as an ordinary user.",
    ),
    "output-closed": Code(
        "The reader of standard output closed it early.", "Nothing; read all of it if needed."
    ),
    "cannot-listen": Code("An address cannot be listened at.", "Choose another address or port."),
    # Servers that are started
    "server-failed": Code("The server ended before it was ready.", "See its log; run its command by hand."),
    "ready-timeout": Code(
        "The server did not become ready in time.",
        "See its log, or raise ready.timeout_s in the target file.",
    ),
    "ready-command-failed": Code(
        "The command that checks whether the server is ready failed.", "Run it by hand."
    ),
    "no-free-port": Code(
        "No port can be bound at this address.", "Use an address of this machine, or name a port."
    ),
    # Servers that run already
    "unreachable": Code("The server's host cannot be reached.", "Check the address, routes and firewalls."),
    "hung-up": Code("The server closed the connection without an answer.", "See the server's log."),
    "wrong-protocol": Code(
        "The server does not speak the protocol that the target names.", "Name the protocol that it speaks."
    ),
    "server-not-ready": Code("The server answers that it is not ready.", "Wait for it, or see its log."),
    "request-refused": Code(
        "The server answers the request with an error or a miss.", "Request something that it serves."
    ),
    "login-refused": Code("The server refuses the login.", "Give `--user`, `--password` and `--database`."),
    "second-connection-refused": Code(
        "The server accepted one connection and refused the next.", "Check its limit of connections."
    ),
    # Plans
    "unset-variable": Code("An environment variable is not set.", "Export the variable."),
    "untrusted-reference": Code(
        "A stored study would send a variable or a file of this host, or run a program of its own.",
        "Look at what it names; repeat the command with --yes if you trust whoever made the study.",
    ),
    "secret-not-stored": Code(
        "A study does not store secrets, so that another process cannot use this one.",
        "Name a secret as env:NAME or file:PATH when a study begins.",
    ),
    "unmeasured-percentile": Code(
        "A limit names a percentile that is not measured.", "Add it to `--quantiles`."
    ),
    "unreachable-limit": Code("A limit can never be met.", "Change the limit, or what it depends on."),
    "short-trace": Code(
        "A trace of arrivals is shorter than a run.", "Shorten the run, lower the rate, or repeat the trace."
    ),
    # Requests that another tool wrote
    "other-host": Code(
        "A request in a file goes to another host than most.", "Measure that host in a study of its own."
    ),
    "requests-left-out": Code(
        "Some requests in a file cannot be sent as they are, and are left out.",
        "See what is left with `hindmost workload FILE`.",
    ),
    "requests-counted-together": Code(
        "Requests have more names than results can keep apart, so they are counted by method.",
        'Give them fewer names: "name" in the workload file.',
    ),
    # Designs of experiments
    "design-too-large": Code(
        "A design has more cells than can be run.", "Use fewer factors, or screen them first."
    ),
    "too-few-runs": Code("The runs are too few for the design.", "Allow more runs, or fewer factors."),
    "unused-level": Code("No allowed cell has this level of a factor.", "Remove the level, or forbid less."),
    "inestimable-effect": Code("The cells cannot tell an effect from others.", "Allow more runs."),
    "forbidden-control": Code("The control is a forbidden combination.", "Name another control."),
}
