"""The table of commands. The parser, help, reference, golden texts and shell completion are built from it.

A command is a package ``hindmost.commands.NAME`` whose ``cli`` has a function ``NAME``, and a row of the
table. A subcommand is a module of ``cli``. Modules are loaded when their command is called.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """One command.

    Attributes
    ----------
    usage : str
        What follows its name on the command line.
    purpose : str
        One line that says what it does.
    examples : tuple of str
        Command lines, without the word ``hindmost``.
    verbs : tuple of Verb
        Its subcommands. A command with subcommands does nothing itself.
    usual : str or None
        The default subcommand: ``watch 4711`` means ``watch start 4711``.
    hidden : bool
        Whether the program's help page leaves it out.
    """

    name: str
    usage: str
    purpose: str
    examples: tuple[str, ...] = ()
    verbs: tuple[Verb, ...] = ()
    usual: str | None = None
    hidden: bool = False


VERBS = (
    Verb(
        "measure",
        "TARGET [OPTIONS]",
        "Measure the tail latency of a server, with confidence intervals.",
        (
            "measure memcached --rate 20k",
            "measure memcached://10.0.0.7:11211 --rate 50k --clients 4 --runs 5",
            "measure nginx --rate 2k --require 'p99<5ms' --json",
            "measure memcached --find-rate 'p99<500us' --duration 3s",
        ),
    ),
    Verb(
        "compare",
        "STUDY|TARGET... [OPTIONS]",
        "Show whether servers, settings or versions differ, and by how much.",
        (
            "compare before after --fail-if 'p99>+5%'",
            "compare --live nginx apache --rate 5k --pairs 10",
            "compare memcached --set threads=4,1 --rate 20k",
            "compare memcached --set 'argument = \"-o no_lru_maintainer\" = off,on' --rate 20k",
            "compare memcached --batch 50us,100us --rate 20k,40k --connections 4",
            "compare originals/targets/sqlite.toml --clone sqlite.toml",
        ),
    ),
    Verb(
        "attribute",
        "STUDY.toml [OPTIONS]",
        "Find the factors that cause the tail, and the best setting.",
        (
            "attribute examples/attribution/memcached.toml --dry-run",
            "attribute examples/attribution/memcached.toml --budget 30m",
        ),
    ),
    Verb(
        "trace",
        "SERVER [OPTIONS]",
        "Find the stage of the request path where the variance arises, by eBPF.",
        ("trace memcached://127.0.0.1:11211 --duration 30s", "trace 4711 --records requests.parquet --json"),
    ),
    Verb(
        "explain",
        "TARGET [OPTIONS]",
        "Find why the tail is slow and confirm what reduces it, within a time budget.",
        (
            "explain memcached --rate 20k --budget 5m",
            "explain http://127.0.0.1:80/ --rate 500 --page why.html",
            "explain my-server.toml --workload mix.json --apply",
        ),
    ),
    Verb(
        "watch",
        "APPLICATION|COMMAND",
        "Watch a running application and detect when its latency changes.",
        verbs=(
            Verb(
                "start",
                "APPLICATION [OPTIONS]",
                "Watch an application; `hindmost watch APPLICATION` does the same.",
                (
                    "watch start memcached://127.0.0.1:11211 --serve",
                    "watch start nginx.service --probe-address http://127.0.0.1:80 --ring web.ring",
                    "watch start 4711 --log /var/log/apache2/access.log --log-latency apache",
                ),
            ),
            Verb(
                "show",
                "RING [OPTIONS]",
                "Show whether latency changed recently, and which metrics moved with it.",
                ("watch show memcached-4711.ring", "watch show web.ring --percentile 95 --alarms 0.1 --json"),
            ),
            Verb(
                "merge",
                "RING... [OPTIONS]",
                "Merge the rings of several hosts: overall latency, batch by batch.",
                ("watch merge one.ring two.ring --out both.jsonl",),
            ),
            Verb(
                "add",
                "NAME APPLICATION [OPTIONS]",
                "Add a service to those that `hindmost watch serve` watches.",
                (
                    "watch add cache memcached://127.0.0.1:11211",
                    "watch add web nginx.service --log /var/log/nginx/access.log",
                    "watch add shop command:'gunicorn shop' --probe-address http://127.0.0.1:8000/health",
                    "watch add cache memcached://127.0.0.1:11211 --on-change diagnose --policy may.toml",
                ),
            ),
            Verb("remove", "NAME [OPTIONS]", "Remove a service from those.", ("watch remove cache",)),
            Verb("list", "[OPTIONS]", "List those services and their state.", ("watch list --json",)),
            Verb(
                "serve",
                "[OPTIONS]",
                "Watch all added services, with one page and /metrics for Prometheus.",
                ("watch serve", "watch serve --folder services --rings rings --port 0"),
            ),
            Verb(
                "install",
                "[OPTIONS]",
                "Let systemd run `hindmost watch serve`.",
                ("watch install --print", "watch install", "watch install --user"),
            ),
            Verb(
                "uninstall",
                "[OPTIONS]",
                "Stop the daemon and remove its systemd unit.",
                ("watch uninstall", "watch uninstall --user"),
            ),
        ),
        usual="start",
    ),
    Verb(
        "diagnose",
        "APPLICATION [OPTIONS]",
        "Find the root cause of a slow application by reversible experiments.",
        (
            "diagnose memcached://127.0.0.1:11211 --normal 150us",
            "diagnose memcached://127.0.0.1:11211 --dry-run",
            "diagnose 4711 --probe-address http://127.0.0.1:80 --ring web.ring --policy may.toml --correct",
        ),
    ),
    Verb(
        "clone",
        "COMMAND",
        "Model a server's timing: fit, simulate, sweep or serve the model.",
        verbs=(
            Verb(
                "fit",
                "LOG... [OPTIONS]",
                "Fit a clone to measured service times.",
                (
                    "clone fit server.csv --out clone.toml --page fit.html",
                    "clone fit one.csv two.csv four.csv --out clone.toml",
                    "clone fit times.parquet --column service_us > clone.toml",
                ),
            ),
            Verb(
                "simulate",
                "CLONE [OPTIONS]",
                "Predict the latency of a clone by simulating its queues.",
                (
                    "clone simulate xapian --utilisation 70%",
                    "clone simulate clone.toml --rate 5k --threads 4",
                ),
            ),
            Verb(
                "sweep",
                "CLONE [OPTIONS]",
                "Predict latency against load for many designs, or find the best one.",
                (
                    "clone sweep silo --vary threads=1,2,4 --out sweep.html",
                    "clone sweep xapian --vary 'service[1].law.median_us=900..1800:4' --utilisation 50%,70%",
                    "clone sweep xapian --find 'p99<10ms' --by threads --rate 2k",
                ),
            ),
            Verb(
                "show",
                "CLONE [OPTIONS]",
                "Print a clone document and its capacity.",
                ("clone show xapian", "clone show silo > mine.toml"),
            ),
            Verb(
                "serve",
                "CLONE [OPTIONS]",
                "Serve a clone: run a real server with its timing.",
                (
                    "clone serve silo --cpus 0",
                    "clone serve xapian --protocol http --address 127.0.0.1:8080 --log truth.csv",
                    "clone serve masstree --integrated --rate 5k --requests 100000 --json",
                ),
            ),
        ),
    ),
    Verb(
        "colocate",
        "COMMAND",
        "Find batch jobs that may share a machine without hurting the tail.",
        verbs=(
            Verb(
                "stressors",
                "[--run STRESSOR...] [OPTIONS]",
                "Measure stressors on this core, or run some of them.",
                (
                    "colocate stressors --out core.json --picture core.svg",
                    "colocate stressors --run dram --duty 25% --duration 30s --cpus 1",
                ),
            ),
            Verb(
                "profile",
                "PROGRAM [OPTIONS]",
                "Measure what a program loses next to each stressor, and what it inflicts.",
                (
                    "colocate profile 'python -u batch.py' --out batch.json",
                    "colocate profile ./encode --stressors l3,dram --budget 5s",
                ),
            ),
            Verb(
                "pairs",
                "PROFILE... [OPTIONS]",
                "Run programs next to each other, and score predictors of the loss.",
                ("colocate pairs zstd.json sqlite.json matmul.json --out pairs.json --page pairs.html",),
            ),
            Verb(
                "predict",
                "SERVER JOB... [OPTIONS]",
                "Predict which jobs may run next to a server, from profiles and evidence.",
                (
                    "colocate predict server.json batch.json --within 10% --load 50%",
                    "colocate predict server.json zstd.json matmul.json --pairs pairs.json",
                    "colocate predict memcached.json xz.json stream.json --measure --page measured.html",
                    "colocate predict web.json xz.json --advise --unit nginx.service --out advice",
                    "colocate predict --lost 15% --load 70% --workers 4",
                ),
            ),
            Verb(
                "supervise",
                "SERVER JOB --promise LIMIT [OPTIONS]",
                "Run a batch job next to a server within the server's latency limit.",
                (
                    "colocate supervise memcached://127.0.0.1:11211 'xz -9 -k big.tar' --promise 'p95<1ms'",
                    "colocate supervise http://127.0.0.1:80 4711 --promise 'p99<5ms' --probe 400",
                    "colocate supervise http://127.0.0.1:80 ./encode --promise 'p95<5ms' --learn web.json",
                ),
            ),
        ),
    ),
    Verb(
        "harvest",
        "COMMAND",
        "Place batch work and its data in a data center by history.",
        verbs=(
            Verb(
                "classify",
                "TRACES [OPTIONS]",
                "Classify tenants by a month of utilisation.",
                (
                    "harvest classify traces --out classes.json",
                    "harvest classify azure --slot 5m --classes 8,4,4 --json",
                ),
            ),
            Verb(
                "select",
                "CLASSES.json --wants CORES [OPTIONS]",
                "Choose the class for a job by its length and headroom.",
                ("harvest select classes.json --length long --wants 40",),
            ),
            Verb(
                "place",
                "CLASSES.json [OPTIONS]",
                "Place blocks on diverse tenants, and show how diverse they are.",
                (
                    "harvest place classes.json --blocks 300",
                    "harvest place classes.json --weigh space --hard",
                ),
            ),
            Verb(
                "simulate",
                "KIND [OPTIONS]",
                "Simulate a synthetic data center: lost blocks, failed accesses, killed tasks.",
                (
                    "harvest simulate durability --servers 1000 --setting policy=stock",
                    "harvest simulate scheduling --setting utilisation=0.4 --setting scheduler=aware",
                ),
            ),
            Verb(
                "export",
                "hadoop|kubernetes CLASSES.json [OPTIONS]",
                "Write the configuration with which Hadoop or Kubernetes places by history.",
                (
                    "harvest export hadoop classes.json --name-nodes nn1,nn2 --out conf",
                    "harvest export kubernetes classes.json --url http://10.0.0.5:9880",
                ),
            ),
        ),
    ),
    Verb(
        "host",
        "COMMAND",
        "Check this host, change its settings and restore them.",
        verbs=(
            Verb("doctor", "[TARGET] [OPTIONS]", "Check whether this host is fit to measure."),
            Verb(
                "knobs",
                "COMMAND",
                "List, get, set and restore the settings of this host.",
                verbs=(
                    Verb(
                        "list",
                        "[OPTIONS]",
                        "List the settings of this host and their values.",
                        ("host knobs list", "host knobs list --all"),
                    ),
                    Verb("get", "NAME [OPTIONS]", "Show a setting.", ("host knobs get thp",)),
                    Verb(
                        "set",
                        "NAME VALUE [OPTIONS]",
                        "Set a value, after writing the old one to the journal.",
                        ("host knobs set thp never", "host knobs set rps@eth0 3"),
                    ),
                    Verb(
                        "restore",
                        "[OPTIONS]",
                        "Restore all changed settings.",
                        ("host knobs restore",),
                    ),
                ),
            ),
        ),
    ),
    Verb(
        "study",
        "COMMAND",
        "List stored studies, rebuild the report of one, or export it.",
        verbs=(
            Verb(
                "list",
                "[FOLDER] [OPTIONS]",
                "List the studies in a folder with verdicts and trends.",
                ("study list", "study list nightly --page nightly/index.html"),
            ),
            Verb("report", "STUDY [OPTIONS]", "Rebuild the page and the table from a study's stored runs."),
            Verb(
                "export",
                "STUDY --as FORMAT [OPTIONS]",
                "Write a study's figures as CSV, Parquet, OpenMetrics or OTLP.",
                (
                    "study export nightly --as csv",
                    "study export nightly --as otlp --push http://localhost:4318/v1/metrics",
                    "study export nightly --as openmetrics --out /var/lib/node_exporter/latency.prom",
                ),
            ),
        ),
    ),
    Verb(
        "workload",
        "FILE|NAME",
        "Print a HAR, OpenAPI or vegeta file, or a published mix, as a workload file.",
        ("workload shop.har > shop.json", "workload facebook-etc"),
        hidden=True,
    ),
    Verb(
        "extender",
        "CLASSES.json|PROFILES [OPTIONS]",
        "Answer kube-scheduler by class and length of job, or by profiles.",
        ("extender classes.json --runs runs.csv", "extender profiles --within 20% --strict"),
        hidden=True,
    ),
    Verb("load", "PLAN.json [OPTIONS]", "Run one bare load client from an engine plan.", hidden=True),
    Verb(
        "completion",
        "SHELL",
        "Print a shell's completion script.",
        (
            "completion bash > ~/.local/share/bash-completion/completions/hindmost",
            "completion zsh > ~/.zfunc/_hindmost",
            "completion fish > ~/.config/fish/completions/hindmost.fish",
        ),
        hidden=True,
    ),
)
"""All commands, in the order of the help page."""


RENAMED = {
    "synth": "clone",
    "doctor": "host doctor",
    "knobs": "host knobs",
    "list": "study list",
    "trial": "compare TARGET --set SETTING=LEVELS",
    "batching": "compare TARGET --batch INTERVALS",
    "clone verify": "compare ORIGINAL --clone CLONE",
    "synth verify": "compare ORIGINAL --clone CLONE",
    "report": "study report",
    "colocate rulers": "colocate stressors",
    "colocate stress": "colocate stressors --run STRESSOR",
    "colocate may": "colocate predict SERVER JOB",
    "colocate neighbours": "colocate predict SERVER JOB...",
    "colocate corun": "colocate predict SERVER JOB... --measure",
    "colocate tail": "colocate predict --lost SHARE",
    "colocate advise": "colocate predict SERVER JOB... --advise",
    "colocate extender": "extender PROFILES",
    "harvest hadoop-config": "harvest export hadoop",
    "harvest kubernetes-config": "harvest export kubernetes",
    "harvest extender": "extender CLASSES.json",
}
"""Commands of version 0.1 and their current names."""


def all_commands(verbs: tuple[Verb, ...] = VERBS, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command, each followed by its subcommands.

    >>> [" ".join(words) for words in all_commands()][-6:]
    ['study report', 'study export', 'workload', 'extender', 'load', 'completion']
    """
    for verb in verbs:
        words = (*above, verb.name)
        yield words
        yield from all_commands(verb.verbs, words)


def list_subcommands() -> dict[str, list[str]]:
    """Return the subcommands of each command; the key "" has the top-level commands."""
    found: dict[str, list[str]] = {"": [verb.name for verb in VERBS if not verb.hidden]}
    for *above, name in all_commands():
        if above:
            found.setdefault(" ".join(above), []).append(name)
    return found


def insert_default(argv: Sequence[str]) -> list[str]:
    """Return the command line with the default subcommand inserted where it is omitted.

    Examples
    --------
    >>> insert_default(["watch", "4711", "--serve"])
    ['watch', 'start', '4711', '--serve']
    """
    words = list(argv)
    for verb in VERBS:
        if verb.usual is not None and len(words) > 1 and words[0] == verb.name:
            named = {below.name for below in verb.verbs}
            if words[1] not in named and words[1] not in ("-h", "--help"):
                words.insert(1, verb.usual)
    return words


def locate_function(words: tuple[str, ...]) -> str:
    """Return a command's function as ``module:function``. A builtin's name gets an underscore."""
    name = words[-1].replace("-", "_")
    command, *below = (word.replace("-", "_") for word in words)
    module = ".".join(("hindmost.commands", command, "cli", *below))
    return f"{module}:{name}{'_' if hasattr(builtins, name) else ''}"
