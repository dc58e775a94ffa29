"""Codes of load hosts and clients, as the engine and the fleet name them."""

from __future__ import annotations

from hindmost.codes.code import Code

CODES = {
    # Connections, as the engine names what stopped a client (crates/load)
    "plan": Code("The engine refused a client's plan.", "Correct the option or key that the message names."),
    "trace": Code(
        "A file of arrival times or requests cannot be used.", "Correct the file at the place named."
    ),
    "connect": Code("The server did not accept a connection.", "Check that it runs and can be reached."),
    "refused": Code("The server refused the login.", "Check user and password, and the server's log."),
    "source": Code("A source address cannot be used.", "Use an address of this host: ip -brief address."),
    "full": Code(
        "The server accepts fewer connections than requested.",
        "Raise the server's limit, or use fewer --connections.",
    ),
    "open-files": Code(
        "The connections need more open files than a process may have.",
        "Raise the limit with prlimit, or use fewer --connections.",
    ),
    "ports": Code(
        "The connections need more local ports than there are.",
        "Widen net.ipv4.ip_local_port_range, add --source addresses, or lower --rate or --connections.",
    ),
    "server-gone": Code("The server closed its connections during the load.", "Read the server's log."),
    "garbage": Code(
        "A reply does not belong to the protocol.", "Check that this port speaks the protocol of TARGET."
    ),
    "preload": Code(
        "The server did not store all keys before the load.", "Use fewer keys or smaller values."
    ),
    "clean-up": Code("What the load stored could not be removed.", "Remove it from the server by hand."),
    "pin": Code("A thread cannot run on the requested CPU.", "Use a CPU that hindmost host doctor lists."),
    "no-uring": Code("The kernel forbids io_uring.", "Use --io epoll, or allow io_uring."),
    "write": Code("A client or load host could not write a file.", "Check free space and permissions."),
    "system": Code("A system call of a client failed.", "Run hindmost host doctor on its host."),
    "aborted": Code("A client was told to stop.", "Run the command again."),
    "panicked": Code("The engine has a bug.", "Report it with the study's manifest.json."),
    # Clients as processes
    "client-ended": Code("A client ended before its work was done.", "Find out who ended it: dmesg | tail."),
    "client-stuck": Code("A client did not finish a phase in time.", "Check its host: hindmost host doctor."),
    "unreadable-result": Code("A client's result is missing or incomplete.", "Check free space."),
    "little-memory": Code(
        "The clients may need more memory than is free.", "Use fewer --connections, or smaller values."
    ),
    # Load hosts
    "host-unreachable": Code("SSH cannot reach a load host.", "Try ssh to that host by hand."),
    "host-login": Code("A load host refused the SSH login.", "Correct user and key in [ssh]."),
    "host-key": Code(
        "A load host's SSH host key is not known, or is another one.", "Verify it; add it to known_hosts."
    ),
    "login-key": Code("An SSH key cannot be used.", "Load it into ssh-agent, or name another in [ssh]."),
    "worker-failed": Code("The worker on a load host did not start.", "Run the command of the hint there."),
    "missing-hindmost": Code("A load host has no Hindmost.", "Install the same version there."),
    "version-mismatch": Code(
        "A load host has another version or build of Hindmost.", "Install the same wheel there."
    ),
    "no-scheduler": Code("No Dask scheduler answers at the address.", "Start it, or correct the address."),
    "no-workers": Code("The Dask scheduler has no workers.", "Start a dask worker on each load host."),
    "unencrypted-scheduler": Code(
        "The scheduler's connections are not encrypted, so anyone who reaches a worker can run code there.",
        "Use tls://, or allow it in a hosts file with tls = false.",
    ),
    "server-unreachable": Code("A load host cannot connect to the server.", "Check routes and firewalls."),
    "host-busy": Code("A load host works for another controller.", "Wait until that one has finished."),
    "rejected-command": Code(
        "A load host refused a command that its controller did not sign, that was meant for another host,"
        " that came twice, or that it does not know.",
        "Start again; if it persists, find out who else talks to that host.",
    ),
    "bad-reply": Code(
        "A load host sent what no Hindmost sends, so it is not believed.",
        "Find out what runs on that host, and whether it was taken over.",
    ),
    "broker-failed": Code(
        "The process that speaks Dask for the controller ended or failed.", "Run the command again."
    ),
    "broker-not-confined": Code(
        "The kernel has no Landlock, or an old one, so a load host taken over may reach what you can.",
        "Use load hosts that you trust, or Linux 6.12 or newer with Landlock.",
    ),
    "no-client-running": Code(
        "A load host was asked about clients, but runs none.", "Start the study again."
    ),
    "incomplete-transfer": Code("A file of a load host ended early.", "Check that host's disk."),
    # Work on many hosts
    "no-host-left": Code("All hosts were lost before the work was done.", "Repeat it when they are back."),
    "repeated-host-loss": Code(
        "Several hosts were lost with the same piece of work, which may have crashed them.",
        "Check their memory: dmesg | grep -i oom.",
    ),
    # Notes
    "slow-host": Code(
        "A host has not returned its work for a long time; another host was asked as well.",
        "Check whether that host still runs.",
    ),
    "host-unfit": Code("A load host is unfit to measure.", "Correct what the message names."),
    "restored-setting": Code(
        "A killed study had left a setting on a load host; it was restored.", "Nothing to do."
    ),
    "unrestored-setting": Code(
        "A setting of a load host could not be restored.", "Run hindmost host knobs restore on that host."
    ),
}
