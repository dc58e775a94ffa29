"""Codes of tracing, watching, diagnosis, settings and packet captures."""

from __future__ import annotations

from hindmost.codes.code import Code

_ROOT = "Run the command as root."

CODES: dict[str, Code] = {
    # Which server
    "remote-server": Code(
        "The server runs on another machine, and this must see its kernel.",
        "Run the command on that machine.",
    ),
    "needs-running-server": Code("This needs a server that runs already.", "Name its address or process id."),
    "needs-managed-server": Code(
        "This needs a server that Hindmost starts itself.", "Name a preset or a target file."
    ),
    "ambiguous-port": Code("The process listens on several ports.", "Choose one with `--port`."),
    # What the kernel lacks for tracing
    "trace-machine": Code("Tracing needs an x86-64 processor.", "Trace on an x86-64 machine."),
    "trace-btf": Code(
        "The kernel does not describe its types (BTF).", "Use a kernel with CONFIG_DEBUG_INFO_BTF=y."
    ),
    "trace-tracepoint": Code("The kernel lacks a tracepoint that tracing needs.", "Use Linux 6.3 or later."),
    "trace-permission": Code(
        "The kernel does not allow this process to load probes.",
        "Run as root, or with CAP_BPF and CAP_PERFMON.",
    ),
    "trace-probe": Code("The kernel refused a probe.", "Run `hindmost host doctor`; look at the kernel log."),
    "trace-function": Code(
        "The program has no such function or USDT probe.", "List them with `nm -D` or `readelf -n`."
    ),
    "trace-stamps": Code("The kernel cannot time-stamp packets.", "Run `hindmost host doctor`."),
    "trace-thread": Code("The thread that reads the trace could not start.", "Check the limit on threads."),
    "trace-records": Code("The file of single requests cannot be written.", "Check the path and free space."),
    # What a trace found
    "no-traced-requests": Code(
        "The trace followed no request from end to end.",
        "Put load on the server, or choose another `--protocol`.",
    ),
    "server-ended": Code("The server ended during the trace.", "Trace again; earlier figures remain valid."),
    "unmatched-requests": Code(
        "The trace could not follow some requests, perhaps the slow ones.",
        "Trace fewer connections or windows.",
    ),
    "no-handover": Code(
        "The kernel does not show when a response is handed over, so two stages count as one.",
        "Use Linux 6.16 or later.",
    ),
    "wrong-begin-function": Code(
        "The server does not call the function of `--probe-e4` once for each request.",
        "Name another function, or leave the option out.",
    ),
    "undivided-requests": Code(
        "Requests could not be told apart: all bytes read before a reply count as one request.",
        "Choose a `--protocol`.",
    ),
    "unframed-bytes": Code(
        "Some bytes were not a request of this protocol, and were skipped.", "Check `--protocol` and TLS."
    ),
    "unreadable-reads": Code(
        "The trace could not look into some reads (io_uring, splice, several buffers).", "Nothing to do."
    ),
    "missing-stamps": Code("Some packets had no network time stamp.", "Ignore the stage network to TCP."),
    "lost-records": Code(
        "The file lacks some single requests; figures include them.", "Use a greater `--every`."
    ),
    "open-stages": Code(
        "The stages do not add up to the latency: one was longer than 4.29 s, or negative.", "Trace again."
    ),
    "probe-overhead": Code(
        "The probes use so much CPU time that the server is busier than usual.", "Trace with `--windows 16`."
    ),
    "trace-interference": Code(
        "The trace itself used a CPU that requests waited for.", "Run the trace on another CPU (`taskset`)."
    ),
    "ended-threads": Code(
        "Threads or processes of the server ended during the trace; they are not counted as workers.",
        "Nothing to do.",
    ),
    "host-interference": Code(
        "The hypervisor or other processes used the server's CPUs during the trace.",
        "Repeat the trace on a quieter machine.",
    ),
    # What a trace advises
    "fewer-threads": Code("Requests wait for a lock of another thread.", "Use fewer threads."),
    "no-listener-thread": Code(
        "A listener thread passes requests on to workers.", "Give each worker its own socket or process."
    ),
    "maintenance-off": Code("The server's maintenance thread delays requests.", "Switch it off."),
    "maintenance-last": Code(
        "The server's maintenance thread delays requests.", "Give it a lower priority than the workers."
    ),
    "maintenance-lock": Code(
        "Requests wait for a lock of the server's maintenance thread.",
        "Let it hold the lock for shorter times, or turn it off.",
    ),
    "remove-sleep": Code(
        "The server sleeps until a timer expires.", "Find the sleep or timeout in its code."
    ),
    "measure-upstream": Code(
        "The server waits for input while it works on a request, such as another server's reply.",
        "Measure or trace the server that it calls.",
    ),
    "no-delay": Code(
        "Responses wait in the server's TCP for an acknowledgement.",
        "Set TCP_NODELAY, or write them at once.",
    ),
    "fewer-faults": Code(
        "Page faults take a large part of the server's work.", "Keep memory, or use huge pages."
    ),
    "pin-threads": Code("Another thread of the server used the CPU.", "Pin each thread to its own CPU."),
    "move-program": Code("Another process used the CPU.", "Move it to other CPUs, or prefer the server."),
    "isolate-cpus": Code("A kernel thread used the CPU.", "Keep kernel threads off the server's CPUs."),
    "steer-packets": Code(
        "Packets are processed on the server's CPUs.", "Process them on other CPUs (interrupts, RPS)."
    ),
    "shallow-idle": Code("A sleeping CPU had to wake up first.", "Forbid deep idle states."),
    "batch-at-client": Code("Requests wait for others of their batch.", "Batch at the clients."),
    "trace-threads": Code(
        "Requests wait, or the server sleeps; for whom or what is not known.", "Trace again with `--who`."
    ),
    "split-kinds": Code("Kinds of requests differ more than requests of one kind.", "Serve them separately."),
    "profile-server": Code("The server's own work varies.", "Look into the server with a profiler."),
    # Watching
    "ring-in-use": Code("Another watch writes this ring file.", "Choose another file with `--ring`."),
    "no-latency-source": Code(
        "The probe or the access log does not provide latency.", "Use `--probe 0`, or `--log FILE`."
    ),
    "few-blocks": Code(
        "The ring holds too few blocks with latency.", "Watch for longer, or state the value."
    ),
    "few-slow-blocks": Code(
        "Too few slow blocks to rank metrics: the slowdown has just begun.",
        "Wait until the time in the message.",
    ),
    "correlated-blocks": Code(
        "Blocks remain correlated at every length, so no false-alarm rate can be promised.",
        "Watch for longer.",
    ),
    # Interventions
    "diagnosis-in-progress": Code(
        "Another diagnosis or supervision is changing this host.", "Wait until it ends."
    ),
    "watchdog-ended": Code(
        "The watchdog did not start, or ended. Nothing is changed without it.",
        "Run `hindmost host knobs restore`, then the command again.",
    ),
    "lease-expired": Code(
        "The command stood still for so long that the watchdog restored the host.", "Run the command again."
    ),
    "replaced-process": Code("The process ended, and another one has its number.", "Nothing to do."),
    "threads-ended": Code("The threads to change have ended.", "Nothing to do."),
    "intervention-failed": Code("The change did not take effect.", "Check the suspect by hand."),
    "shared-group": Code(
        "The neighbour's control group contains the application, or a process that must keep running.",
        "Put the neighbour into its own group.",
    ),
    "masks-lost": Code(
        "This kernel would lose the CPU masks of the neighbour's threads.", "Use Linux 6.2 or later."
    ),
    "no-free-cpu": Code("The application may use every CPU, so none is left.", "Give it fewer CPUs."),
    "already-limited": Code(
        "The group's quota is already as low as the experiment would set it.", "Nothing."
    ),
    # What a diagnosis tries
    "policy-forbids": Code("The policy does not allow this change.", "Add it to `may` in the policy."),
    "policy-hours": Code("The policy allows no change at this hour.", "Wait, or change `hours`."),
    "protected-program": Code(
        "Hindmost never touches this program: operators need it to repair the host.", "Nothing to do."
    ),
    "policy-excepts": Code("The policy excepts this program.", "Change `except` in the policy."),
    "policy-omits": Code("The policy does not name this program.", "Add it to `neighbours` in the policy."),
    "not-needed": Code("A suspect from the trace already explains the slowdown.", "Nothing to do."),
    "not-on-host": Code("Nothing was changed on the host.", "Nothing to do."),
    "application-depends": Code(
        "The application depends on this process, so it is never paused.", "Nothing to do."
    ),
    "harmful-experiment": Code(
        "Experiments with a suspect made users wait longer than the anomaly does. They were undone at once.",
        "Nothing to do.",
    ),
    "harm-spent": Code(
        "Experiments made users wait too often, so nothing more was changed.",
        "Exclude these suspects in the policy, or use --twin.",
    ),
    "not-reproduced-suspect": Code("The replica did not become slow with this suspect.", "Nothing to do."),
    "removed-on-host": Code("The suspect was removed on the host as well.", "Read the ruling."),
    "not-removed-on-host": Code(
        "The suspect was not removed on the host.", "Allow it in the policy, or remove it by hand."
    ),
    "unanswered-windows": Code(
        "The server answered nothing in many windows, so they are too short.", "Use a longer `--window`."
    ),
    "no-answers": Code("The application answered no request in a window.", "Check that it still runs."),
    "sham-failed": Code(
        "Even an experiment that changes nothing failed.", "Look at the reason in the message."
    ),
    # Replicas
    "no-dose": Code("This suspect cannot be brought to a replica.", "Diagnose without `--twin`."),
    "dose-in-force": Code("The replica is under the same limit anyway.", "Nothing to do."),
    "no-own-group": Code("The replica has no control group of its own.", _ROOT),
    "no-own-network": Code("The replica has no network of its own.", _ROOT),
    "normal-load-unknown": Code("The normal load is not known.", "Give `--normal-work` or `--ring`."),
    "normal-load": Code("The load is not higher than normal.", "Nothing to do."),
    "replica-load-failed": Code(
        "The replica's load could not run.", "Check `--twin-workload` and `--twin-rate`."
    ),
    "real-time-refused": Code(
        "The kernel refuses real-time priority, so the replica cannot be protected from neighbours.",
        "Run as root in the root control group, or boot with rt_group_sched=0.",
    ),
    # Corrections
    "correction-kept": Code(
        "The correction brought latency back and stays.", "Undo: `hindmost host knobs restore`."
    ),
    "correction-failed": Code("The correction did not bring latency back and was undone.", "Nothing to do."),
    "no-correction": Code("Nothing that may stay in force removes the cause.", "Remove the cause by hand."),
    # Settings of a host and of a server
    "setting-unavailable": Code("This host does not have the setting, or does not allow it.", _ROOT),
    "setting-differs": Code("The setting has another value after it was set.", "Set it by hand and look."),
    "setting-refused": Code("The kernel refused the value.", "Choose another value."),
    "setting-in-use": Code("Another study holds this setting.", "Wait, or run `host knobs restore`."),
    "not-restored": Code(
        "A setting could not be restored. It stays in the journal.", "Run `hindmost host knobs restore`."
    ),
    "unsafe-journal": Code(
        "The journal of changes cannot be used: others could have written it, or it is not readable.",
        "Look at it, then correct its owner and mode as the hint says.",
    ),
    "remote-command": Code(
        "A setting that contains a command line cannot be sent to another machine.",
        "Run the study on that machine, or use a setting without a command.",
    ),
    "no-such-thread": Code("The server has no thread with this name.", "Use a name that the message lists."),
    "command-failed": Code("A command that sets, reads or restores something failed.", "Run it by hand."),
    "interference-ended": Code(
        "The program that should run next to the server ended early.",
        "Run it by hand and look at its output.",
    ),
    # Packet captures
    "bad-capture": Code("A packet capture cannot be read or matched.", "Write it with `tcpdump -w FILE`."),
    "capture-refused": Code("tcpdump may not capture packets.", _ROOT),
    "capture-failed": Code("tcpdump did not start to listen.", "Try it by hand: `tcpdump -n -i lo -c 1`."),
    "no-such-interface": Code("There is no such network interface.", "List them with `ip link`."),
}
