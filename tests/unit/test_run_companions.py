"""Companions of a run: when each is called, and what happens if one fails."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from messages import raises
from rows import each_row

from hindmost import MeasurePlan, _engine
from hindmost.core.run.companions import COMPANIONS, Companion, Scene, accompany
from hindmost.core.run.companions.sentinel import Sentinel
from hindmost.core.store.manifest import Fault
from hindmost.errors import HostUnfit

SCENE = Scene(MeasurePlan(target="synth"), Path("run"), "127.0.0.1:1", None, 1.0)


def recording_companion(name_: str, diary: list[str], **settings: Any) -> type[Companion]:
    """Return a companion that records its calls; `fails` names the call that fails."""
    fails = settings.pop("fails", None)

    class RecordingCompanion(Companion):
        name = name_

        def _record_call(self, what: str) -> None:
            diary.append(f"{name_} {what}")
            if what == fails:
                raise HostUnfit("host-unfit", "FAULT", hint="HINT")

        def enter(self, stack: ExitStack) -> None:
            stack.callback(diary.append, f"{name_} left")
            self._record_call("enter")

        def before_measurement(self, ports: object) -> None:
            self._record_call(f"measuring {ports}" if fails != "measuring" else "measuring")

        def after_measurement(self) -> None:
            self._record_call("over")

        def record(self) -> dict[str, Any]:
            self._record_call("record")
            return {name_: 1}

    for name, value in settings.items():
        setattr(RecordingCompanion, name, value)
    return RecordingCompanion


def run_through(*companions: type[Companion]) -> dict[str, Any]:
    with accompany(SCENE, companions) as company:
        company.before_measurement([7])
        company.after_measurement()
        company.after_measurement()
        return company.record()


def test_companions_are_nested_and_all_are_left():
    diary: list[str] = []
    assert run_through(recording_companion("a", diary), recording_companion("b", diary)) == {"a": 1, "b": 1}
    assert diary == [
        *("a enter", "b enter", "b measuring [7]", "a measuring [7]"),
        *("a over", "b over", "a record", "b record", "b left", "a left"),
    ]


@each_row("fails", ["enter", "measuring", "over", "record"])
def test_one_that_fails_leaves_its_fault_and_is_record_call_nothing_more(fails):
    diary: list[str] = []
    record = run_through(recording_companion("a", diary, fails=fails), recording_companion("b", diary))
    assert record == {"a": Fault(code="host-unfit", fault="FAULT", hint="HINT"), "b": 1}
    assert [line for line in diary if line.startswith("a")][-2:] == [f"a {fails}", "a left"]
    assert diary.count("b record") == 1


@each_row("fails", ["enter", "measuring", "over", "record"])
def test_a_refusing_companion_ends_the_run_and_is_left(fails):
    diary: list[str] = []
    with raises(HostUnfit, "host-unfit"):
        run_through(
            recording_companion("a", diary, fails=fails, on_fault="refuse"), recording_companion("b", diary)
        )
    assert diary[-1] == "a left"


def test_a_companion_that_does_not_apply_is_absent():
    diary: list[str] = []
    assert run_through(recording_companion("a", diary, applies_to=lambda _: False)) == {}
    assert diary == []


def test_companions_have_distinct_names_and_a_capture_is_optional():
    assert len({recording_companion.name for recording_companion in COMPANIONS}) == len(COMPANIONS)
    default_names = [
        recording_companion.name
        for recording_companion in COMPANIONS
        if recording_companion.applies_to(SCENE.plan)
    ]
    assert default_names == ["server_counters", "sentinel"]
    with_capture = SCENE.plan.model_copy(update={"verify_wire": True})
    assert [
        recording_companion.name
        for recording_companion in COMPANIONS
        if recording_companion.applies_to(with_capture)
    ] == [
        "server_counters",
        "sentinel",
        "witness",
    ]
    without_sentinel = SCENE.plan.model_copy(update={"sentinel": "off"})
    assert [
        recording_companion.name
        for recording_companion in COMPANIONS
        if recording_companion.applies_to(without_sentinel)
    ] == ["server_counters"]


@pytest.fixture
def sentinels(monkeypatch):
    """CPUs that each sentinel watched, and whether it ended."""
    calls: list[Any] = []

    class FakeSentinel:
        def __init__(self, cpus: list[int], period_ns: int, real_time: bool) -> None:
            calls.append(cpus)

        def end(self) -> str:
            calls.append("ended")
            return "[]"

    monkeypatch.setattr("hindmost.core.run.companions.sentinel._engine.Sentinel", FakeSentinel)
    return calls


@pytest.mark.parametrize(
    ("pid", "plan", "watched"),
    [
        (7, {"server_cpus": (0,), "client_cpus": ((1,),)}, [0]),
        (7, {"server_cpus": (0,), "client_cpus": ((1,), (2,)), "pacing": "sleep"}, [0, 1, 2]),
        (None, {"server_cpus": (), "client_cpus": ((1,),)}, None),
        (7, {"server_cpus": (0,), "client_cpus": ((0,),), "pacing": "sleep"}, None),
    ],
)
def test_a_sentinel_watches_the_server_and_sleeping_clients(sentinels, pid, plan, watched):
    scene = Scene(SCENE.plan.model_copy(update=plan), Path("run"), "127.0.0.1:1", pid, 1.0)
    with accompany(scene, [Sentinel]) as company:
        company.before_measurement([])
        company.after_measurement()
        assert company.record() == {"sentinel": []}
    assert sentinels == ([] if watched is None else [watched, "ended"])


def test_a_sentinel_ends_with_a_run_that_ends_early(sentinels):
    plan = SCENE.plan.model_copy(update={"server_cpus": (0,), "client_cpus": ((1,),)})

    def fail_during_run() -> None:
        with accompany(Scene(plan, Path("run"), "a:1", 7, 1.0), [Sentinel]) as company:
            company.before_measurement([])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_during_run()
    assert sentinels == [[0], "ended"]


@pytest.mark.parametrize("fails", ["begin", "end"])
def test_a_failing_sentinel_records_its_reason(monkeypatch, fails):
    class FailingSentinel:
        def __init__(self, cpus: list[int], period_ns: int, real_time: bool) -> None:
            if fails == "begin":
                raise _engine.EngineError("sentinel", "EPERM at begin")

        def end(self) -> str:
            raise _engine.EngineError("sentinel", "kept out to the end")

    monkeypatch.setattr("hindmost.core.run.companions.sentinel._engine.Sentinel", FailingSentinel)
    plan = SCENE.plan.model_copy(update={"server_cpus": (0,), "client_cpus": ((1,),)})
    with accompany(Scene(plan, Path("run"), "a:1", 7, 1.0), [Sentinel]) as company:
        company.before_measurement([])
        company.after_measurement()
        fault = company.record()["sentinel"]
    assert fault.code == "no-sentinel"
    assert fails in fault.fault, "the message of the engine"
    assert fault.hint
