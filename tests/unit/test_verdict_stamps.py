"""Missing time stamps and adjusted clocks."""

from evidence import client, reasons, ten
from rows import each_row

COMPLETE = {
    "every": 16,
    "source": "software",
    "interface": "lo",
    "requested": 1000,
    "received": 1000,
    "shared": 3,
    "without_out": 0,
    "without_in": 0,
    "implausible": 0,
    "clock_steps": 0,
    "largest_step_ns": 0,
    "reason": None,
}


def run_notes(plan=None, **changes):
    return reasons(runs=ten(clients=lambda: [client(stamps=COMPLETE | changes)]), plan=plan or {})


def because(code, text):
    return {"code": code, "text": text}


@each_row(
    ("changes", "expected"),
    [
        ({}, None),
        (
            {"reason": because("card_failed", "the card stamped 3 of 90")},
            None,
        ),  # the kernel's stamps are sufficient
        ({"source": None, "reason": because("refused", "the kernel refuses: EPERM")}, "refused"),
        ({"received": 0, "reason": because("none_received", "it gave no answer")}, "none-received"),
    ],
)
def test_missing_stamps_are_reported_with_their_reason(changes, expected):
    notes = run_notes(**changes)
    assert ("no-time-stamps" in notes) == (expected is not None)
    if expected:
        note = notes["no-time-stamps"]
        assert (note.level, note.values["reason"]) == ("note", expected)


def test_stamps_outside_the_plan_are_not_missing():
    off = {"source": None, "every": 0, "reason": because("off", "stamps were not asked for")}
    assert "no-time-stamps" not in run_notes({"stamp_every": 0}, **off)


def test_an_adjusted_clock_is_reported_with_the_omitted_stamps():
    result = run_notes(clock_steps=1, largest_step_ns=20_000, implausible=2)["clock-steps"]
    assert result.level == "note"
    assert result.values == {"steps": 10, "largest_us": 20.0, "left_out": 20}
    assert "clock-steps" not in run_notes()
