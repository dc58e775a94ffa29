"""Codes about load hosts and clients. The engine and the fleet use them."""

from __future__ import annotations

from hindmost.core.codes.code import Code

CODES = {
    # Connections: why the engine stopped a client (crates/load)
    "plan": Code("The engine refused a client's plan.", "Correct the option or key in the message."),
    "trace": Code(
        "A file of arrival times or requests is invalid.", "Correct the file at the place in the message."
    ),
    "connect": Code(
        "The server did not accept a connection.", "Check that the server runs and is reachable."
    ),
    "refused": Code("The server refused the login.", "Check the user, the password and the server's log."),
    "source": Code(
        "A source address cannot be used.", "Use an address of this host. `ip -brief address` lists them."
    ),
    "full": Code(
        "The server accepts fewer connections than requested.",
        "Raise the server's limit, or use fewer --connections.",
    ),
    "open-files": Code(
        "The connections need more open files than the process limit allows.",
        "Raise the limit with `prlimit`, or use fewer --connections.",
    ),
    "ports": Code(
        "The connections need more local ports than are available.",
        "Widen net.ipv4.ip_local_port_range, add --source addresses, or lower --rate or --connections.",
    ),
    "server-gone": Code("The server closed its connections during the load.", "Check the server's log."),
    "garbage": Code(
        "A reply does not follow the protocol.",
        "Check that the server on this port speaks the protocol of TARGET.",
    ),
    "preload": Code(
        "The server did not store all keys before the load.", "Use fewer keys or smaller values."
    ),
    "clean-up": Code(
        "The keys stored by the load could not be removed.", "Remove them from the server by hand."
    ),
    "pin": Code("A thread cannot run on the requested CPU.", "Use a CPU listed by `hindmost host doctor`."),
    "no-uring": Code("The kernel does not allow io_uring.", "Use --io epoll, or allow io_uring."),
    "write": Code("A client or load host could not write a file.", "Check free space and permissions."),
    "system": Code("A system call of a client failed.", "Run `hindmost host doctor` on its host."),
    "aborted": Code("A client received an order to stop.", "Run the command again."),
    "panicked": Code("The engine has a bug.", "Report it with the study's manifest.json."),
    # Clients as processes
    "client-ended": Code(
        "A client ended before its work was done.", "Find out what ended it: `dmesg | tail`."
    ),
    "client-stuck": Code(
        "A client did not finish a phase in time.", "Check its host with `hindmost host doctor`."
    ),
    "unreadable-result": Code("A client's result is missing or incomplete.", "Check free space on its host."),
    "little-memory": Code(
        "The clients may need more memory than is free.", "Use fewer --connections, or smaller values."
    ),
    # Load hosts
    "host-unreachable": Code(
        "A load host cannot be reached by SSH.", "Connect to that host with `ssh` by hand."
    ),
    "host-login": Code("A load host refused the SSH login.", "Correct the user and key in `[ssh]`."),
    "host-key": Code(
        "A load host's SSH key is unknown or has changed.", "Verify the key, then add it to `known_hosts`."
    ),
    "login-key": Code(
        "An SSH key cannot be used.", "Load it into `ssh-agent`, or name another key in `[ssh]`."
    ),
    "worker-failed": Code(
        "The worker on a load host did not start.", "Run the command in the hint on that host."
    ),
    "missing-hindmost": Code(
        "Hindmost is not installed on a load host.", "Install the controller's version there."
    ),
    "version-mismatch": Code(
        "A load host has a different version or build of Hindmost.", "Install the controller's wheel there."
    ),
    "no-scheduler": Code(
        "No Dask scheduler answers at the address.", "Start the scheduler, or correct the address."
    ),
    "no-workers": Code("The Dask scheduler has no workers.", "Start a Dask worker on each load host."),
    "unencrypted-scheduler": Code(
        "The scheduler's connections are not encrypted, so anyone who can reach a worker can run code on it.",
        "Use `tls://`, or allow plain connections with `tls = false` in the hosts file.",
    ),
    "server-unreachable": Code(
        "A load host cannot connect to the server.", "Check routes and firewalls between them."
    ),
    "host-busy": Code(
        "A load host is working for another controller.", "Wait until that controller has finished."
    ),
    "rejected-command": Code(
        "A load host refused a command: it was unsigned, meant for another host, repeated or unknown.",
        "Start again. If it happens again, find out which other program sends commands to that host.",
    ),
    "bad-reply": Code(
        "A load host sent a malformed reply, so its data is not trusted.",
        "Find out what runs on that host, and whether it is compromised.",
    ),
    "broker-failed": Code("The controller's Dask process ended or failed.", "Run the command again."),
    "broker-not-confined": Code(
        "Landlock is missing or too old, so a compromised load host can access everything that you can.",
        "Use only load hosts that you trust, or Linux 6.12 or later with Landlock.",
    ),
    "no-client-running": Code("The load host runs no client.", "Start the study again."),
    "incomplete-transfer": Code(
        "The transfer of a file from a load host was incomplete.", "Check that host's disk."
    ),
    # Work on many hosts
    "no-host-left": Code(
        "All hosts were lost before the work was complete.", "Repeat the command when they are back."
    ),
    "repeated-host-loss": Code(
        "Several hosts were lost while computing the same piece of work, which may have crashed them.",
        "Check their memory: `dmesg | grep -i oom`.",
    ),
    # Notes
    "slow-host": Code(
        "A host has not returned its work for a long time, so another host computes it too.",
        "Check whether the slow host still works.",
    ),
    "host-unfit": Code("A load host is unsuitable for measuring.", "Correct the problem in the message."),
    "restored-setting": Code(
        "A killed study had left a changed setting on a load host. The setting was restored.",
        "Nothing to do.",
    ),
    "unrestored-setting": Code(
        "A setting on a load host could not be restored.", "Run `hindmost host knobs restore` on that host."
    ),
}
