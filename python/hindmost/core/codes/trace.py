"""Codes about tracing, watching, diagnosis, settings and packet captures."""

from __future__ import annotations

from hindmost.core.codes.code import Code

_ROOT = "Run the command as root."

CODES: dict[str, Code] = {
    # The server
    "remote-server": Code(
        "The server runs on another machine, but this command must read its kernel.",
        "Run the command on that machine.",
    ),
    "needs-running-server": Code(
        "This command needs a server that already runs.", "Specify its address or process id."
    ),
    "needs-managed-server": Code(
        "This command needs a server that Hindmost starts.", "Use a preset or a target file."
    ),
    "ambiguous-port": Code("The process listens on several ports.", "Choose one with `--port`."),
    # Kernel features that tracing needs
    "trace-machine": Code("Tracing needs an x86-64 processor.", "Trace on an x86-64 machine."),
    "trace-btf": Code(
        "The kernel does not describe its types (BTF).", "Use a kernel with CONFIG_DEBUG_INFO_BTF=y."
    ),
    "trace-tracepoint": Code("The kernel lacks a tracepoint that tracing needs.", "Use Linux 6.3 or later."),
    "trace-permission": Code(
        "The kernel does not allow this process to load probes.",
        "Run as root, or with CAP_BPF and CAP_PERFMON.",
    ),
    "trace-probe": Code(
        "The kernel rejected a probe.", "Run `hindmost host doctor`, and check the kernel log."
    ),
    "trace-function": Code(
        "The program has no such function or USDT probe.", "List them with `nm -D` or `readelf -n`."
    ),
    "trace-stamps": Code("The kernel cannot time-stamp packets.", "Run `hindmost host doctor`."),
    "trace-thread": Code("The thread that reads the trace could not start.", "Check the thread limit."),
    "trace-records": Code(
        "The file of traced requests cannot be written.", "Check the path and the free space."
    ),
    # Findings of a trace
    "no-traced-requests": Code(
        "The trace followed no request from end to end.",
        "Put load on the server, or choose another `--protocol`.",
    ),
    "server-ended": Code(
        "The server ended during the trace.", "Trace again. The figures up to that time are valid."
    ),
    "unmatched-requests": Code(
        "The trace could not follow some requests, which may include the slow ones.",
        "Trace fewer connections or windows.",
    ),
    "cut-requests": Code(
        "Some requests of a trace in windows were too slow to be followed to their end.",
        "Trace all the time: `--windows 1`.",
    ),
    "no-handover": Code(
        "The kernel does not show when a response is handed over, so two stages count as one.",
        "Use Linux 6.16 or later.",
    ),
    "wrong-begin-function": Code(
        "The server does not call the function of `--probe-e4` once for each request.",
        "Specify another function, or leave out the option.",
    ),
    "undivided-requests": Code(
        "Request boundaries are unknown, so all bytes read before a reply count as one request.",
        "Choose a `--protocol`.",
    ),
    "unframed-bytes": Code(
        "Some bytes did not form a request of this protocol and were skipped.", "Check `--protocol` and TLS."
    ),
    "unreadable-reads": Code(
        "The trace could not inspect some reads (io_uring, splice, several buffers).", "Nothing to do."
    ),
    "missing-stamps": Code("Some packets had no network time stamp.", "Ignore the stage `network to TCP`."),
    "lost-records": Code(
        "The file lacks some traced requests. The figures include them.", "Use a larger `--every`."
    ),
    "open-stages": Code(
        "The stages do not add up to the latency: one was longer than 4.29 s, or negative.", "Trace again."
    ),
    "probe-overhead": Code(
        "The probes use so much CPU time that the server is busier than usual.", "Trace with `--windows 16`."
    ),
    "trace-interference": Code(
        "The trace itself used a CPU for which requests waited.", "Run the trace on another CPU (`taskset`)."
    ),
    "ended-threads": Code(
        "Threads or processes of the server ended during the trace. They do not count as workers.",
        "Nothing to do.",
    ),
    "host-interference": Code(
        "The hypervisor or other processes used the server's CPUs during the trace.",
        "Repeat the trace on a quieter machine.",
    ),
    "no-profile": Code(
        "The kernel refuses to sample stacks, so a trace with `--who` cannot name functions.",
        "Run as root, outside a container that forbids perf events.",
    ),
    "few-profile-samples": Code(
        "Too few stack samples belong to the slowest requests to compare their functions.",
        "Trace for longer.",
    ),
    # Advice of a trace
    "fewer-threads": Code("Requests wait for a lock of another thread.", "Use fewer threads."),
    "no-listener-thread": Code(
        "A listener thread passes requests on to workers.",
        "Give each worker its own listening socket or process.",
    ),
    "maintenance-off": Code("The server's maintenance thread delays requests.", "Disable it."),
    "maintenance-last": Code(
        "The server's maintenance thread delays requests.", "Give it a lower priority than the workers."
    ),
    "maintenance-lock": Code(
        "Requests wait for a lock of the server's maintenance thread.",
        "Make it hold the lock for shorter times, or disable it.",
    ),
    "remove-sleep": Code(
        "The server sleeps until a timer expires.", "Find the sleep or timeout in the server's code."
    ),
    "measure-upstream": Code(
        "The server waits for input while it works on a request, such as another server's reply.",
        "Measure or trace the server that it calls.",
    ),
    "no-delay": Code(
        "Responses wait in the server's TCP stack for an acknowledgement (Nagle's algorithm).",
        "Set TCP_NODELAY, or write each response in one call.",
    ),
    "fewer-faults": Code(
        "Page faults make up a large part of the server's work.", "Keep memory allocated, or use huge pages."
    ),
    "pin-threads": Code("Another thread of the server used the CPU.", "Pin each thread to its own CPU."),
    "move-program": Code(
        "Another process used the CPU.", "Move it to other CPUs, or give the server a higher priority."
    ),
    "isolate-cpus": Code("A kernel thread used the CPU.", "Keep kernel threads off the server's CPUs."),
    "steer-packets": Code(
        "Packets are processed on the server's CPUs.",
        "Move interrupts and packet processing (RPS) to other CPUs.",
    ),
    "shallow-idle": Code("A sleeping CPU had to wake up first.", "Disable deep idle states."),
    "batch-at-client": Code(
        "Requests wait for other requests of their batch.", "Create batches at the clients."
    ),
    "trace-threads": Code(
        "Requests wait or the server sleeps, for an unknown reason.", "Trace again with `--who`."
    ),
    "split-kinds": Code(
        "Service times differ more between request kinds than within a kind.", "Serve the kinds separately."
    ),
    "profile-server": Code("The time of the server's own work varies.", "Profile the server."),
    # Watching
    "ring-in-use": Code(
        "Another `hindmost watch` is writing this ring file.", "Choose another file with `--ring`."
    ),
    "no-latency-source": Code(
        "The probe or the access log does not provide latency.", "Use `--probe 0`, or `--log FILE`."
    ),
    "service-exists": Code(
        "A service of this name is watched already.", "Choose another name, or remove it first."
    ),
    "service-not-watched": Code(
        "The daemon does not watch this service. It watches the others.",
        "Correct the service's file; the daemon notices it.",
    ),
    "no-such-service": Code("No service of this name is watched.", "Run `hindmost watch list`."),
    "unit-failed": Code(
        "systemd refused the unit of `hindmost watch install`. Nothing was left behind.",
        "Read the message of systemctl.",
    ),
    "few-blocks": Code(
        "The ring holds too few blocks with latency.", "Watch for longer, or specify the value."
    ),
    "few-slow-blocks": Code(
        "Too few slow blocks to rank metrics: the slowdown has just begun.",
        "Wait until the time in the message.",
    ),
    "correlated-blocks": Code(
        "Blocks of every length are correlated, so the false-alarm rate is not guaranteed.",
        "Watch for longer.",
    ),
    # Interventions
    "diagnosis-in-progress": Code(
        "Another diagnosis or supervision is changing this host.", "Wait until it ends."
    ),
    "watchdog-ended": Code(
        "The watchdog did not start, or ended. Hindmost changes nothing without it.",
        "Run `hindmost host knobs restore`, then the command again.",
    ),
    "lease-expired": Code(
        "The command was suspended for so long that the watchdog restored the host.", "Run the command again."
    ),
    "replaced-process": Code("The process ended, and another process now has its id.", "Nothing to do."),
    "threads-ended": Code("The threads to change have ended.", "Nothing to do."),
    "intervention-failed": Code("The change did not take effect.", "Check the suspect by hand."),
    "shared-group": Code(
        "The neighbour's control group contains the application, or a process that must keep running.",
        "Put the neighbour into its own group.",
    ),
    "masks-lost": Code(
        "This kernel would lose the CPU masks of the neighbour's threads.", "Use Linux 6.2 or later."
    ),
    "no-free-cpu": Code(
        "The application may use every CPU, so no CPU is left for the experiment.", "Give it fewer CPUs."
    ),
    "already-limited": Code(
        "The group's quota is already as low as the experiment would make it.", "Nothing to do."
    ),
    # Suspects of a diagnosis
    "policy-forbids": Code("The policy does not allow this change.", "Add it to `may` in the policy."),
    "policy-hours": Code("The policy allows no change at this hour.", "Wait, or change `hours`."),
    "policy-host": Code("The policy allows no change of this host.", "Add it to `hosts` in the policy."),
    "protected-program": Code(
        "Hindmost never touches this program: operators need it to repair the host.", "Nothing to do."
    ),
    "policy-excepts": Code("The policy excludes this program.", "Change `except` in the policy."),
    "policy-omits": Code("The policy does not name this program.", "Add it to `neighbours` in the policy."),
    "not-needed": Code(
        "A suspect from the trace explains the slowdown, so this one was not tested.", "Nothing to do."
    ),
    "not-on-host": Code("Nothing was changed on the host.", "Nothing to do."),
    "application-depends": Code(
        "The application depends on this process, so it is never paused.", "Nothing to do."
    ),
    "harmful-experiment": Code(
        "An experiment with this suspect slowed users more than the anomaly does. It was undone at once.",
        "Nothing to do.",
    ),
    "harm-spent": Code(
        "Experiments made users wait too often, so the diagnosis stopped changing the host.",
        "Exclude these suspects in the policy, or use `--replica`.",
    ),
    "not-reproduced-suspect": Code("The replica did not become slow with this suspect.", "Nothing to do."),
    "removed-on-host": Code("The suspect was removed on the host as well.", "Read the verdict."),
    "not-removed-on-host": Code(
        "The suspect was not removed on the host.", "Allow it in the policy, or remove it by hand."
    ),
    "unanswered-windows": Code(
        "Many windows contain no reply, so they are too short.", "Use a longer `--window`."
    ),
    "no-answers": Code(
        "The application answered no request in a window.", "Check that the application still runs."
    ),
    "sham-failed": Code(
        "Even an experiment that changes nothing failed.", "Correct the problem in the message."
    ),
    # Replicas
    "no-dose": Code("This suspect cannot be reproduced on a replica.", "Diagnose without `--replica`."),
    "dose-in-force": Code("The replica is already under the same limit.", "Nothing to do."),
    "no-own-group": Code("The replica could not get its own control group.", _ROOT),
    "no-own-network": Code("The replica could not get its own network namespace.", _ROOT),
    "normal-load-unknown": Code("The normal load is unknown.", "Specify `--normal-work` or `--ring`."),
    "normal-load": Code("The load is not higher than normal.", "Nothing to do."),
    "replica-load-failed": Code(
        "The replica's load generator failed.", "Check `--replica-workload` and `--replica-rate`."
    ),
    "real-time-refused": Code(
        "The kernel refuses real-time priority, so the replica cannot be protected from neighbours.",
        "Run as root in the root control group, or boot with rt_group_sched=0.",
    ),
    # Corrections
    "correction-kept": Code(
        "The correction restored latency and was kept.", "To undo it, run `hindmost host knobs restore`."
    ),
    "correction-failed": Code("The correction did not restore latency and was undone.", "Nothing to do."),
    "no-correction": Code("No permanent change removes the cause.", "Remove the cause by hand."),
    # Settings of hosts and servers
    "setting-unavailable": Code("This host does not have the setting, or does not allow changing it.", _ROOT),
    "setting-differs": Code(
        "The setting has a different value after it was set.", "Set it by hand and read it back."
    ),
    "setting-refused": Code("The kernel refused the value.", "Choose another value."),
    "setting-in-use": Code(
        "Another study is using this setting.", "Wait, or run `hindmost host knobs restore`."
    ),
    "not-restored": Code(
        "A setting could not be restored. It stays in the journal.", "Run `hindmost host knobs restore`."
    ),
    "unsafe-journal": Code(
        "The journal of changes cannot be used: other users can write to it, or it is unreadable.",
        "Inspect the journal, then correct its owner and mode as in the hint.",
    ),
    "remote-command": Code(
        "A setting that contains a command line cannot be sent to another machine.",
        "Run the study on that machine, or use a setting without a command.",
    ),
    "no-such-thread": Code(
        "The server has no thread with this name.", "Use one of the names in the message."
    ),
    "command-failed": Code("A command that sets, reads or restores a setting failed.", "Run it by hand."),
    "interference-ended": Code(
        "A program that should run next to the server ended early.",
        "Run it by hand and check its output.",
    ),
    # Packet captures
    "bad-capture": Code(
        "A packet capture cannot be read, or does not match the requests.", "Write it with `tcpdump -w FILE`."
    ),
    "capture-refused": Code("tcpdump may not capture packets.", _ROOT),
    "capture-failed": Code("tcpdump did not start to capture.", "Run it by hand: `tcpdump -n -i lo -c 1`."),
    "no-such-interface": Code("There is no such network interface.", "List them with `ip link`."),
}
