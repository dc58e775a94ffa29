"""Codes about options, plans, workloads, targets, settings, designs and packet captures."""

from __future__ import annotations

from hindmost.core.codes.code import Code

CODES = {
    # The command line
    "root-not-needed": Code(
        "The command runs as root, but measuring a server at a URL needs no root rights.",
        "Run the command as an ordinary user.",
    ),
    "output-closed": Code(
        "The reader of standard output closed it early.",
        "Nothing to do. Read to the end if you need the whole output.",
    ),
    "cannot-listen": Code("The program cannot listen on this address.", "Choose another address or port."),
    # Servers that Hindmost starts
    "server-failed": Code(
        "The server ended before it was ready.", "Check its log, and run its command by hand."
    ),
    "ready-timeout": Code(
        "The server did not become ready in time.",
        "Check its log, or raise ready.timeout_s in the target file.",
    ),
    "ready-command-failed": Code(
        "The command that checks whether the server is ready failed.", "Run it by hand."
    ),
    "no-free-port": Code(
        "No port can be bound at this address.", "Use an address of this machine, or specify a port."
    ),
    # Servers that already run
    "unreachable": Code(
        "The server's host cannot be reached.", "Check the address, the routes and the firewalls."
    ),
    "hung-up": Code("The server closed the connection without an answer.", "Check the server's log."),
    "wrong-protocol": Code(
        "The server does not speak the target's protocol.", "Specify the protocol that the server speaks."
    ),
    "server-not-ready": Code("The server reports that it is not ready.", "Wait for it, or check its log."),
    "request-refused": Code(
        "The server replies to the request with an error or a miss.", "Request something that it serves."
    ),
    "login-refused": Code(
        "The server refused the login.", "Specify `--user`, `--password` and `--database`."
    ),
    "second-connection-refused": Code(
        "The server accepted one connection and refused the next.", "Check the server's connection limit."
    ),
    # Plans
    "unset-variable": Code("An environment variable is not set.", "Export the variable."),
    "untrusted-reference": Code(
        "A stored study would send a variable or file of this host to a server, or run its own program.",
        "Check the names in the message. If you trust the study's author, repeat the command with `--yes`.",
    ),
    "secret-not-stored": Code(
        "A study does not store secrets, so another process cannot use this secret.",
        "Specify secrets as `env:NAME` or `file:PATH` when you start a study.",
    ),
    "unmeasured-percentile": Code(
        "A limit refers to a percentile that is not measured.", "Add it to `--quantiles`."
    ),
    "unreachable-limit": Code(
        "A limit can never be met.", "Change the limit, or the options that it depends on."
    ),
    "short-trace": Code(
        "A trace of arrivals is shorter than a run.", "Shorten the run, lower the rate, or repeat the trace."
    ),
    # Requests that another tool wrote
    "other-host": Code(
        "A request in a file goes to a different host than most.", "Measure that host in a separate study."
    ),
    "requests-left-out": Code(
        "Some requests in a file cannot be sent unchanged and are left out.",
        "List the remaining requests with `hindmost workload FILE`.",
    ),
    "requests-counted-together": Code(
        "There are too many request names to report separately, so requests are counted by method.",
        'Use fewer values of "name" in the workload file.',
    ),
    # Designs of experiments
    "design-too-large": Code(
        "The design has too many cells.", "Use fewer factors, or screen the factors first."
    ),
    "too-few-runs": Code("There are too few runs for the design.", "Allow more runs, or fewer factors."),
    "unused-level": Code(
        "No allowed cell has this level of a factor.", "Remove the level, or forbid fewer combinations."
    ),
    "inestimable-effect": Code(
        "The design's cells cannot separate an effect from others.", "Allow more runs."
    ),
    "forbidden-control": Code("The control is a forbidden combination.", "Choose another control."),
}
