"""An explanation: the parts of the tail, the candidates, the budget, and the answer from the folder alone."""

import json
import math
import random
import shutil
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from messages import raises
from rows import each_row
from tiny_study import HOST, tiny_plan

import hindmost
from hindmost import open_study
from hindmost.commands.compare import arms
from hindmost.commands.explain import catalogue, procedure, schedule, split
from hindmost.commands.explain.answer import answer, compare_sides
from hindmost.commands.explain.document import Candidate, Explanation, Part
from hindmost.commands.explain.request import KIND, State, create_study, plan_without
from hindmost.commands.explain.view import view
from hindmost.commands.measure.procedure import Procedure
from hindmost.core.exits import Exit
from hindmost.core.run.request import MeasureRequest
from hindmost.core.store import Study
from hindmost.core.store.engine import TraceCounts
from hindmost.core.study.kind import carry_out, report_study
from hindmost.core.study.talk import Silent
from hindmost.core.targets import parse_target
from hindmost.core.tracing.document import CulpritPart, Profile, Trace
from hindmost.errors import Interrupted, UsageError
from hindmost.present.blocks import Section
from hindmost.present.markdown import render_markdown
from hindmost.present.page import render_page
from hindmost.present.terminal import render_terminal


def figure(value):
    return {"value": value, "low": None, "high": None}


def stage(name, us, share):
    figures = {"mean_us": figure(us), "variance_us2": figure(100.0), "share_of_variance": figure(share)}
    return {"stage": name, **figures, "c2": None, "share_of_mean": us / 10.0}


def part(stage, cause, us, share, who=None):
    figures = {"mean_us": figure(us), "share_of_variance": figure(share), "sd_without_us": 1.0}
    return {"stage": stage, "cause": cause, "who": who, **figures}


def process_of(name, relation, process=9):
    return {"name": name, "process": process, "relation": relation, "requests": 100}


def slow(stage, cause, us, process=None):
    described = process or {"name": None, "process": None, "relation": None}
    return {"stage": stage, "cause": cause, "mean_us": us} | {
        key: described[key] for key in ("name", "process", "relation")
    }


BURNER, CLIENT, LRU = (
    process_of("burner", "other"),
    process_of("worker-0", "other", 8),
    process_of("mc-lrumaint", "own", 7),
)
DELAYS = {
    "requests": 100,
    **{"threads": [], "unknown": []},
    "parts": [
        part("tcp_to_read", "run_queue", 5.0, 0.5),
        part("start_to_response", "running", 3.0, 0.3),
        part("start_to_response", "lock", 1.0, 0.1),
    ],
    "culprits": [
        part("tcp_to_read", "run_queue", 3.0, 0.3, BURNER),
        part("tcp_to_read", "run_queue", 1.0, 0.1, CLIENT),
        part("start_to_response", "lock", 1.0, 0.1, LRU),
        part("tcp_to_read", "run_queue", 1.0, 0.05, process_of("sentinel-0", "other")),
    ],
    "slowest": {
        **{"requests": 1, "share": 0.01, "above_us": 90.0, "latency_us": 100.0, "network_to_tcp_us": 10.0},
        "parts": [
            slow("tcp_to_read", "run_queue", 60.0, BURNER),
            slow("start_to_response", "running", 30.0),
        ],
    },
}
ADVICE = {
    **{
        "stage": "start_to_response",
        "cause": "lock",
        "who": LRU,
        "share_of_variance": 0.1,
        "predicted": None,
    },
    **{"change": "turn it off", "why": "it holds a lock", "levels": ["off", "on"]},
    "knob": 'argument = "-o no_lru_maintainer"',
}
TRACE = msgspec.convert(
    {
        **{"schema": "hindmost.trace/2", "handover": True, "kinds": {}},
        **dict.fromkeys(("lasted_s", "began_ns", "one_connection_in", "followed_s", "blocks", "matched"), 1),
        **dict.fromkeys(("begun", "between_kinds", "records", "service", "taken")),
        **{key: [] for key in ("unmatched", "threads", "connections", "notes")},
        "server": {"name": "memcached", "pid": None, "port": 11211, "protocol": "memcached"},
        "critical": {"by_variance": "tcp_to_read", "by_mean": "tcp_to_read"},
        "counts": dict.fromkeys(TraceCounts.__annotations__, 0),
        "cost": {"reader_ns": 0, "attached_ns": 0, "probes_ns": 0, "costed_requests": 0, "probes": []},
        "all": {
            "requests": 100,
            "latency": stage("latency", 10.0, 1.0),
            "stages": [stage("network_to_tcp", 1.0, 0.1), stage("tcp_to_read", 9.0, 0.9)],
            **{"covariance_us2": [], "closure": None},
            "batch": {"mean": 1.0, "variance": 0.0, "correlation": []},
        },
        "who": DELAYS,
        "advice": [ADVICE],
    },
    Trace,
)


def test_the_parts_add_up_to_the_variance_at_the_client():
    parts = {one.name: one for one in split.split_tail(TRACE, 200.0)}
    assert sum(one.of_variance for one in parts.values()) == pytest.approx(1.0)
    # The client has half of it; of the server's half, a tenth waited for the client's thread.
    assert parts[split.CLIENT].of_variance == pytest.approx(0.55)
    assert parts[split.OTHERS].of_variance == pytest.approx(0.175)
    assert parts[split.WORK].of_variance == pytest.approx(0.15)
    assert parts[split.WAITS].of_variance == pytest.approx(0.05)
    assert parts[split.NETWORK_IN].of_slowest == pytest.approx(0.1)
    assert parts[split.OTHERS].of_slowest == pytest.approx(0.6)
    assert split.own_code(tuple(parts.values())) == pytest.approx(0.15)


def test_a_trace_without_culprits_is_split_by_stages():
    parts = {
        one.name: one.of_variance for one in split.split_tail(msgspec.structs.replace(TRACE, who=None), None)
    }
    assert parts == {split.NETWORK_IN: pytest.approx(0.1), split.QUEUE: pytest.approx(0.9)}


def test_culprits_have_a_kind_and_exclude_the_sentinel():
    found = split.find_culprits(TRACE, 200.0)
    assert [(one.name, one.kind) for one in found] == [
        ("burner", "process"),
        ("worker-0", "client"),
        ("mc-lrumaint", "thread"),
    ]
    assert (found[0].of_variance, found[0].of_slowest) == (pytest.approx(0.15), pytest.approx(0.6))
    assert found[0].causes == ("run_queue in tcp_to_read",)


@each_row(
    ("stage", "cause", "relation", "us", "kind"),
    [
        ("response_to_network", "wake", "interrupt", 40_000.0, "delayed ACK"),
        ("start_to_response", "wake", "interrupt", 40.0, "upstream"),
        ("start_to_response", "page_fault", "own", 4.0, "page faults"),
        ("tcp_to_read", "run_queue", "kernel", 4.0, "kernel work"),
        ("tcp_to_read", "wake", "idle", 4.0, "idle CPU"),
    ],
)
def test_kinds_of_culprits(stage, cause, relation, us, kind):
    culprit = msgspec.convert(part(stage, cause, us, 0.5, process_of("x", relation)), CulpritPart)
    assert split.kind_of(culprit) == kind


def target_file(folder: Path) -> Path:
    lines = [
        'name = "server"',
        'protocol = "memcached"',
        'command = ["memcached", "-p", "{port}", "-t", "{threads}"]',
        "threads = 1",
        "[settings]",
    ]
    path = folder / "server.toml"
    path.write_text("\n".join([*lines, "threads = [1, 2]"]))
    return path


def candidate(level: str) -> Candidate:
    return Candidate({"option": "threads"}, level, "a test", 0.5, "medium")


def test_candidates_exclude_the_settings_in_force(tmp_path, monkeypatch):
    monkeypatch.setattr(catalogue, "_find_obstacle", lambda *_: None)
    monkeypatch.setattr(catalogue, "MOST", 20)
    target, plan = (
        parse_target(str(target_file(tmp_path))),
        tiny_plan().model_copy(update={"batching": 0.001}),
    )
    found, left_out = catalogue.list_candidates(
        target, plan, TRACE, split.split_tail(TRACE, None), split.find_culprits(TRACE, None)
    )
    labels = [one.label for one in found]
    assert {"-o no_lru_maintainer", "threads=2", "batching=none"} <= set(labels)
    assert "threads=1" not in labels, "threads=1 is in force already"
    assert left_out == []
    assert all(1.0 - one.predicted >= catalogue.LEAST_GAIN for one in found)
    gains = [(1.0 - one.predicted) * catalogue.RISKS[one.risk] for one in found]
    assert gains == sorted(gains, reverse=True)


def test_a_running_server_gets_only_candidates_of_the_host():
    target = parse_target("memcached://127.0.0.1:11211")
    found, left_out = catalogue.list_candidates(target, tiny_plan(), None, (), ())
    assert all(set(one.what) & {"knob", "cpu_dma_latency"} for one in found)
    whys = {one.values["setting"]: one.values["why"] for one in left_out}
    assert whys["-o no_lru_maintainer"] == whys["schedule=nice:-10"] == "needs-managed-target"


def test_a_change_of_the_client_changes_only_the_plan():
    plan = tiny_plan().model_copy(update={"batching": 0.001})
    assert plan_without(plan, [Candidate({"client": "batching"}, "none", "", 0.8, "low")]).batching == "none"
    assert plan_without(plan, [candidate("2")]) is plan


def stage(*columns: float) -> schedule.Rounds:
    """Return two rounds of each column, which vary by 2 %."""
    return {side: {1: us, 2: us * (1.02 if side % 2 else 1.0)} for side, us in enumerate(columns)}


def test_the_worst_candidates_are_dropped_and_the_best_is_kept():
    assert schedule.survivors(stage(100.0, 50.0, 150.0, 50.3), 3)[0] == [1, 3]
    assert schedule.survivors(stage(100.0, 120.0, 150.0), 2)[0] == [1]
    assert schedule.survivors({0: {1: 100.0}, 1: {1: 50.0}}, 1) == ([1], 1), "one round decides nothing"


def test_a_started_round_is_finished_and_runs_are_reserved_for_the_confirmation():
    reserve = 2 * schedule.LOOKS[0]
    assert schedule.next_try({}, 2, reserve + 3) == schedule.Next("try", 1, (0, 1, 2))
    assert schedule.next_try({}, 2, reserve + 2) is None
    assert schedule.next_try({0: {1: 5.0}}, 2, 0.0) == schedule.Next("try", 1, (0, 1, 2))
    assert schedule.next_try({}, 1, 1_000.0) is None, "one candidate needs no choice"


@each_row(
    ("pairs", "runs_left", "is_decided", "next_round"),
    [
        (6, 100, True, 7),
        (7, 100, True, None),
        (7, 100, False, 8),
        (7, 1, False, None),
        (16, 100, False, None),
    ],
)
def test_the_confirmation_ends_only_at_planned_looks(pairs, runs_left, is_decided, next_round):
    rounds = {side: dict.fromkeys(range(1, pairs + 1), 100.0 - 10 * side) for side in (0, 1)}
    found = schedule.next_confirming(rounds, runs_left, is_decided)
    assert (None if found is None else found.round) == next_round


def test_a_hopeless_confirmation_ends_at_its_first_look():
    rounds = {side: dict.fromkeys(range(1, 8), 100.0 + side) for side in (0, 1)}
    assert schedule.next_confirming(rounds, 100, decided=False) is None


@each_row(
    ("confirmed", "looks_left", "runs_left", "choice"),
    [
        ([[1]], 2, 14, 3),
        ([[1, 3]], 2, 14, 1),
        ([[1], [3]], 1, 14, None),
        ([[1]], 0, 14, None),
        ([[1]], 2, 13, None),
    ],
)
def test_after_a_hopeless_confirmation_the_next_best_is_chosen(confirmed, looks_left, runs_left, choice):
    rounds = stage(100.0, 50.0, 150.0, 50.3)
    assert schedule.next_choice(rounds, 3, confirmed, looks_left, runs_left) == choice


def simulate_explanation(effects: list[float], scatter: float, runs: int, seed: int) -> tuple[list[int], str]:
    """Simulate the whole schedule; return which sides were confirmed, and the verdict."""
    draw = random.Random(seed)
    made: dict[str, dict[int, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    left = runs

    def make(following: schedule.Next, ratios: list[float]) -> None:
        nonlocal left
        for side in following.sides:
            made[following.stage][side][following.round] = (
                100.0 * ratios[side] * draw.lognormvariate(0.0, scatter)
            )
            left -= 1

    affordable = effects[: schedule.count_affordable(len(effects), runs)]
    while following := schedule.next_try(made["try"], len(affordable), left):
        make(following, [1.0, *affordable])
    (best, *_), _ = schedule.survivors(made["try"], len(affordable))
    hopeless: list[list[int]] = []
    looks: Sequence[int] = schedule.LOOKS
    while True:
        name = f"confirm-{len(hopeless)}"
        pairs = schedule.count_pairs(made[name])
        ratio = compare_sides(made[name]) if pairs in looks else None
        decided = ratio is not None and ratio.high is not None and ratio.high < 1.0
        following = schedule.next_confirming(made[name], left, decided, name, looks)
        if following is not None:
            make(following, [1.0, affordable[best - 1]])
            continue
        hopeless.append([best])
        looks = looks[: len(looks) - schedule.count_looks(pairs)]
        again = schedule.next_choice(made["try"], len(affordable), hopeless, len(looks), left)
        if decided or not schedule.is_hopeless(made[name]) or again is None:
            return [best], "gain" if decided else "none"
        best = again


def test_ineffective_changes_are_rarely_confirmed():
    found = [simulate_explanation([1.0, 1.0, 1.0], 0.3, 50, seed)[1] for seed in range(200)]
    assert found.count("gain") <= 0.05 * 200


def test_a_budget_of_five_minutes_finds_a_change_that_halves_the_tail():
    found = [simulate_explanation([1.0, 1.1, 0.5, 1.0], 0.25, 60, seed) for seed in range(50)]
    assert found.count(([3], "gain")) >= 45


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> list[Path]:
    """A run of a slow server, and a run of a fast one."""
    found = []
    for us in (40_000, 100):  # no pause of this host lasts as long as the slow server's queue
        target = f'synth?service={{"kind":"deterministic","mean_us":{us}}}'
        plan = tiny_plan().model_copy(
            update={"target": target, "rate_per_s": 50.0, "clients": 1, "runs": (1, 1)}
        )
        study = Study.create(
            tmp_path_factory.mktemp("made") / "study", {"plan": plan.model_dump(mode="json"), "host": HOST}
        )
        with study.lock():
            Procedure(study, plan, parse_target(plan.target), Silent()).run()
        found.append(study.folder / "runs/0001")
    return found


class Interruption(list):
    """The runs that were made; run number `stop_at` is interrupted."""

    stop_at = 0


@pytest.fixture
def made(runs, tmp_path, monkeypatch) -> tuple[Study, Interruption]:
    """A study whose runs are copies: of the slow server without the change, of the fast server with it."""
    recorded_runs = Interruption()

    def make(study: Study, number: int, *_: object, **__: object) -> None:
        if len(recorded_runs) + 1 == recorded_runs.stop_at:
            raise KeyboardInterrupt
        recorded_runs.append(f"{study.folder.parent.name}/{study.folder.name} {number}")
        source = runs[study.folder.name.isdigit() and int(study.folder.name) > 0]
        shutil.copytree(source, study.folder / "runs" / f"{number:04d}")

    monkeypatch.setattr(arms, "make_run", make)
    monkeypatch.setattr(catalogue, "CATALOGUE", ())
    monkeypatch.setattr(procedure._engine, "trace_fault", lambda: ("trace-permission", "no permission"))
    plan = tiny_plan().model_copy(
        update={"target": str(target_file(tmp_path)), "rate_per_s": 50.0, "clients": 1}
    )
    manifest = {"plan": plan.model_dump(mode="json"), "host": HOST, "kind": KIND, "created": "x"}
    study = Study.create(tmp_path / "study", manifest | {KIND: msgspec.to_builtins(State("p99", 300.0))})
    return study, recorded_runs


def test_a_gain_is_confirmed_by_fresh_pairs_and_stored(made):
    study, recorded_runs = made
    shown = carry_out(study, Silent())
    document = shown.document
    assert (document["verdict"], shown.exit) == ("gain", Exit.DONE)
    assert [(one["label"], one["outcome"]) for one in document["trials"]] == [("threads=2", "confirmed")]
    fresh = document["confirmation"]
    assert (fresh["labels"], fresh["pairs"]) == (["threads=2"], schedule.LOOKS[0])
    assert fresh["ratios"]["p99"]["high"] < 1.0
    assert {"p50", "throughput"} <= set(fresh["ratios"])
    assert len(document["answer"]) == 5
    assert [one["code"] for one in document["cannot"]] == ["not-traced"]
    assert recorded_runs.count("confirm/0 1") == 1
    recomputed = answer(Study.open(study.folder))
    assert {**msgspec.json.decode(msgspec.json.encode(recomputed)), "created": ""} == {
        **document,
        "created": "",
    }
    assert {**report_study(Study.open(study.folder)).document, "created": ""} == {**document, "created": ""}
    result = open_study(study.folder)
    assert (result.verdict, len(result.candidates), len(result.latency)) == (
        "gain",
        1,
        2 * len(fresh["before"]["latency_us"]),
    )
    assert json.loads((study.folder / "explanation.json").read_text())["schema"] == "hindmost.explain/1"


@each_row(
    ("parts", "leads"),
    [
        ([Part(split.WORK, 0.3, 0.2), Part(split.BEHIND, 0.3, 0.2)], True),
        ([Part(split.BEHIND, 0.4, 0.5), Part(split.OTHERS, 0.3, 0.3)], True),
        ([Part(split.WORK, 0.4, 0.2), Part(split.OTHERS, 0.3, 0.6)], False),
        ([Part(split.CLIENT, 0.9, 0.0), Part(split.WORK, 0.1, 0.9)], False),
        ([], False),
    ],
)
def test_the_servers_own_work_leads_if_it_has_most_of_the_tail(parts, leads):
    assert split.own_work_leads(tuple(parts)) is leads


def test_the_answer_names_the_functions_of_slow_requests_if_the_servers_work_leads(made):
    study, _ = made
    carry_out(study, Silent())
    function = {"of_all": 0.2, "of_variance": 0.4, "all_us": 4.0, "slowest_us": 600.0}
    profile = {
        **{"period_us": 1000.0, "lost": 0, "of_variance": 0.5, "stacks": []},
        "all": {"requests": 100, "samples": 400, "time_us": 20.0},
        "slowest": {"requests": 1, "samples": 40, "time_us": 800.0},
        "functions": [{"function": "crawl", "module": "server", "of_slowest": 0.75, **function}],
    }

    def explain(own: float) -> Explanation:
        """Explain with a trace in which the server's work has this share of a large variance."""
        document = msgspec.to_builtins(TRACE) | {"who": None, "profile": profile}
        document["all"]["latency"]["variance_us2"] = figure(1e15)
        arriving, working = document["all"]["stages"]
        arriving["share_of_variance"] = figure(1.0 - own)
        working |= {"stage": "start_to_response", "share_of_variance": figure(own)}
        (study.folder / "look/runs/0001/trace.json").write_text(json.dumps(document))
        return answer(Study.open(study.folder))

    own, other = explain(0.9), explain(0.1)
    assert own.profile == msgspec.convert(profile, Profile)
    assert (other.profile, len(own.answer)) == (None, 5)
    assert "crawl (server)" in own.answer[1]
    assert "crawl" not in other.answer[1]
    assert "profile" in {one.id for one in view(own).blocks if isinstance(one, Section)}


def test_the_second_best_is_confirmed_if_the_best_does_not_help_in_fresh_pairs(made, monkeypatch, runs):
    study, _ = made
    labels = {"2": "threads=2", "4": "threads=4"}
    state = State.load(study).update(study, candidates=[candidate("2"), candidate("4")])
    monkeypatch.setattr(schedule, "next_try", lambda *_: None)
    monkeypatch.setattr(schedule, "survivors", lambda *_: ([1, 2], 2))
    slow, fast = runs

    def make(part: Study, number: int, *_: object, **__: object) -> None:
        stage_, side = part.folder.parent.name, part.folder.name
        source = fast if side != "0" and stage_ != "confirm" else slow
        shutil.copytree(source, part.folder / "runs" / f"{number:04d}")

    monkeypatch.setattr(arms, "make_run", make)
    document = carry_out(study, Silent()).document
    outcomes = {one["label"]: one["outcome"] for one in document["trials"]}
    assert outcomes == {labels["2"]: "not confirmed", labels["4"]: "confirmed"}
    assert (document["verdict"], document["confirmation"]["labels"]) == ("gain", ["threads=4"])
    assert State.load(Study.open(study.folder)).confirmations == ["confirm-2", "confirm"]
    assert state.confirmation == "confirm"


def test_an_interrupted_study_continues_without_repeating_runs(made):
    study, recorded_runs = made
    recorded_runs.stop_at = 7  # in the middle of a round
    with pytest.raises(Interrupted) as caught:
        carry_out(study, Silent())
    assert caught.value.hint == f"hindmost explain {study.folder}"
    recorded_runs.stop_at = 0
    document = carry_out(Study.open(study.folder), Silent()).document
    assert document["verdict"] == "gain"
    assert len(recorded_runs) == len(set(recorded_runs)) == 1 + 2 * schedule.LOOKS[0]


def test_a_spent_budget_decides_nothing(made):
    study, _ = made
    study.manifest[KIND]["budget_s"] = 0.1
    shown = carry_out(study, Silent())
    assert (shown.document["verdict"], shown.exit) == ("undecided", Exit.INCONCLUSIVE)
    assert shown.document["confirmation"] is None


def test_every_view_has_the_figures(made):
    document = carry_out(made[0], Silent()).answer
    shown = view(document)
    page, table, markdown = render_page(shown), render_terminal(shown, width=100), render_markdown(shown)
    ratio = f"{document.confirmation.ratios['p99'].value:.2f}"
    for text in (page, table, markdown):
        assert ratio in text
        assert "threads=2" in text
    assert page.count("<svg") >= 4


def test_without_a_host_setting_nothing_is_applied(made):
    document = carry_out(made[0], Silent(), apply=True).document
    assert (document["applied"], document["undo"]) == ([], None)


def test_only_confirmed_host_settings_are_applied(made, monkeypatch):
    study, _ = made
    applied = []
    monkeypatch.setattr(procedure, "set_knob", lambda *setting: applied.append(setting))
    chosen = [Candidate({"knob": "thp"}, "never", "", 0.5, "low"), candidate("2")]
    state = State.load(study).update(study, candidates=chosen, chosen=[1, 2])
    procedure._apply(study, state, Silent())
    assert applied == [("thp", "never")]
    assert State.load(Study.open(study.folder)).applied == ["thp=never"]


def test_impossible_options_are_refused(tmp_path):
    request = MeasureRequest(target="memcached")
    with raises(UsageError, "bad-value"):
        create_study(request, "1s", "p99", tmp_path / "study")
    with raises(UsageError, "unknown-name", option="--by"):
        create_study(request, "1m", "p42", tmp_path / "study")


def test_explain_can_be_called_from_python():
    with raises(UsageError, "bad-value"):
        hindmost.explain("memcached", budget="1s")


def test_an_infinite_percentile_is_stored_as_inf_and_not_null(made, tmp_path):
    study, _ = made
    found = carry_out(study, Silent()).answer
    after = found.confirmation.after
    after = msgspec.structs.replace(after, latency_us=after.latency_us | {"p99": math.inf, "mean": None})
    late = msgspec.structs.replace(
        found, confirmation=msgspec.structs.replace(found.confirmation, after=after)
    )
    procedure.publish(study, late, tmp_path / "page.html")
    stored = json.loads((study.folder / procedure.FILE).read_text())
    latency = stored["confirmation"]["after"]["latency_us"]
    assert (latency["p99"], latency["mean"]) == ("inf", None)


@each_row(("budget_s", "pairs"), [(20.0, 0), (200.0, 11), (600.0, 16)])
def test_the_budget_says_how_many_pairs_it_has_room_for(budget_s, pairs):
    assert max(0, schedule.pairs_affordable(budget_s / 6.5)) == pairs


def test_more_pairs_allow_more_scatter_and_a_small_change_less():
    assert (
        schedule.scatter_allowed(16, 0.5)
        > schedule.scatter_allowed(7, 0.5)
        > schedule.scatter_allowed(7, 0.8)
    )
    assert schedule.ratio_decided(schedule.scatter_allowed(11, 0.8), 11) == pytest.approx(0.8)
