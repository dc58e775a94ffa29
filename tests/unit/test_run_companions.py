"""Companions of a run: when each is told what, and what becomes of one that fails."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from messages import raises
from rows import each_row

from hindmost import MeasurePlan, _engine
from hindmost.errors import HostUnfit
from hindmost.run.companions import COMPANIONS, Companion, Scene, accompany
from hindmost.run.companions.sentinel import Sentinel

SCENE = Scene(MeasurePlan(target="synth"), Path("run"), "127.0.0.1:1", None, 1.0)


def companion(called: str, diary: list[str], **settings: Any) -> type[Companion]:
    """One that writes down what it is told; `fails` names where it fails."""
    fails = settings.pop("fails", None)

    class Made(Companion):
        name = called

        def _told(self, what: str) -> None:
            diary.append(f"{called} {what}")
            if what == fails:
                raise HostUnfit("host-unfit", "FAULT", hint="HINT")

        def enter(self, stack: ExitStack) -> None:
            stack.callback(diary.append, f"{called} left")
            self._told("enter")

        def before_measurement(self, ports: object) -> None:
            self._told(f"measuring {ports}" if fails != "measuring" else "measuring")

        def after_measurement(self) -> None:
            self._told("over")

        def record(self) -> dict[str, Any]:
            self._told("record")
            return {called: 1}

    for name, value in settings.items():
        setattr(Made, name, value)
    return Made


def run_through(*companions: type[Companion]) -> dict[str, Any]:
    with accompany(SCENE, companions) as company:
        company.before_measurement([7])
        company.after_measurement()
        company.after_measurement()
        return company.record()


def test_the_first_is_nearest_to_the_measurement_and_all_are_left():
    diary: list[str] = []
    assert run_through(companion("a", diary), companion("b", diary)) == {"a": 1, "b": 1}
    assert diary == [
        *("a enter", "b enter", "b measuring [7]", "a measuring [7]"),
        *("a over", "b over", "a record", "b record", "b left", "a left"),
    ]


@each_row("fails", ["enter", "measuring", "over", "record"])
def test_one_that_fails_leaves_its_fault_and_is_told_nothing_more(fails):
    diary: list[str] = []
    found = run_through(companion("a", diary, fails=fails), companion("b", diary))
    assert found == {"a": {"code": "host-unfit", "fault": "FAULT", "hint": "HINT"}, "b": 1}
    assert [line for line in diary if line.startswith("a")][-2:] == [f"a {fails}", "a left"]
    assert diary.count("b record") == 1


@each_row("fails", ["enter", "measuring", "over", "record"])
def test_one_that_refuses_ends_the_run_and_is_left(fails):
    diary: list[str] = []
    with raises(HostUnfit, "host-unfit"):
        run_through(companion("a", diary, fails=fails, on_fault="refuse"), companion("b", diary))
    assert diary[-1] == "a left"


def test_one_that_is_not_asked_for_is_not_there():
    diary: list[str] = []
    assert run_through(companion("a", diary, applies_to=lambda _: False)) == {}
    assert diary == []


def test_names_of_companions_differ_and_a_capture_is_asked_for():
    assert len({one.name for one in COMPANIONS}) == len(COMPANIONS)
    asked = [one.name for one in COMPANIONS if one.applies_to(SCENE.plan)]
    assert asked == ["server_counters", "sentinel"]
    wired = SCENE.plan.model_copy(update={"verify_wire": True})
    assert [one.name for one in COMPANIONS if one.applies_to(wired)] == [
        "server_counters",
        "sentinel",
        "witness",
    ]
    without = SCENE.plan.model_copy(update={"sentinel": "off"})
    assert [one.name for one in COMPANIONS if one.applies_to(without)] == ["server_counters"]


@pytest.fixture
def sentinels(monkeypatch):
    """Processors that each sentinel watched, and whether it was ended."""
    told: list[Any] = []

    class Fake:
        def __init__(self, cpus: list[int], period_ns: int, real_time: bool) -> None:
            told.append(cpus)

        def end(self) -> str:
            told.append("ended")
            return "[]"

    monkeypatch.setattr("hindmost.run.companions.sentinel._engine.Sentinel", Fake)
    return told


@pytest.mark.parametrize(
    ("pid", "plan", "watched"),
    [
        (7, {"server_cpus": (0,), "client_cpus": ((1,),)}, [0]),
        (7, {"server_cpus": (0,), "client_cpus": ((1,), (2,)), "pacing": "sleep"}, [0, 1, 2]),
        (None, {"server_cpus": (), "client_cpus": ((1,),)}, None),
        (7, {"server_cpus": (0,), "client_cpus": ((0,),), "pacing": "sleep"}, None),
    ],
)
def test_a_sentinel_watches_the_server_and_clients_that_sleep(sentinels, pid, plan, watched):
    scene = Scene(SCENE.plan.model_copy(update=plan), Path("run"), "127.0.0.1:1", pid, 1.0)
    with accompany(scene, [Sentinel]) as company:
        company.before_measurement([])
        company.after_measurement()
        assert company.record() == {"sentinel": []}
    assert sentinels == ([] if watched is None else [watched, "ended"])


def test_a_sentinel_ends_with_a_run_that_ends_early(sentinels):
    plan = SCENE.plan.model_copy(update={"server_cpus": (0,), "client_cpus": ((1,),)})

    def broken() -> None:
        with accompany(Scene(plan, Path("run"), "a:1", 7, 1.0), [Sentinel]) as company:
            company.before_measurement([])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert sentinels == [[0], "ended"]


@pytest.mark.parametrize("fails", ["begin", "end"])
def test_a_sentinel_that_cannot_watch_or_never_comes_back_leaves_the_run_its_reason(monkeypatch, fails):
    class Kept:
        def __init__(self, cpus: list[int], period_ns: int, real_time: bool) -> None:
            if fails == "begin":
                raise _engine.EngineError("sentinel", "EPERM at begin")

        def end(self) -> str:
            raise _engine.EngineError("sentinel", "kept out to the end")

    monkeypatch.setattr("hindmost.run.companions.sentinel._engine.Sentinel", Kept)
    plan = SCENE.plan.model_copy(update={"server_cpus": (0,), "client_cpus": ((1,),)})
    with accompany(Scene(plan, Path("run"), "a:1", 7, 1.0), [Sentinel]) as company:
        company.before_measurement([])
        company.after_measurement()
        told = company.record()["sentinel"]
    assert told["code"] == "no-sentinel"
    assert fails in told["fault"], "what the engine says of it"
    assert told["hint"]
