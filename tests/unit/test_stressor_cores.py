"""Certificates of cores with several rates of one class or unsaturated ports."""

import json

import pytest
from messages import raises

from hindmost import _engine
from hindmost.commands.colocate import processor as processors
from hindmost.commands.colocate.stressors import _measure_undisturbed, find_slowed, find_unsaturated
from hindmost.errors import Inconclusive

CLASSES = ("fp_mul", "fp_add", "fp_shuffle", "vec_mul", "int_add", "branch", "load", "store")
ALONE = (2.0, 2.0, 2.0, 0.8, 5.0, 1.99, 3.0, 2.0)
"""Instructions per cycle, measured on a Sapphire Rapids VM and a Zen 4 VM, or plausible there."""


def rates(**changed):
    values = dict(zip(CLASSES, ALONE, strict=True)) | changed
    return [
        {"class": name, "rate": value, "documented": None, "bursts": None, "missing": None}
        for name, value in values.items()
    ]


@pytest.fixture
def core(monkeypatch):
    """Play recorded measurements: rates pass by pass, and each class's overlap with itself by attempt."""

    def play(passes, overlaps):
        passes, overlaps, asked = iter(passes), iter(overlaps), []

        def certificate(_cpu, _bursts, without):
            asked.append(list(without))
            own = dict.fromkeys(CLASSES, 1.0) | next(overlaps)
            cells = [{"a": one, "b": one, "value": value} for one, value in own.items() if one not in without]
            return json.dumps({"overlaps": cells, "groups": [], "ghz": 3.0})

        monkeypatch.setattr(_engine, "validate_stressors", lambda *_: json.dumps(next(passes)))
        monkeypatch.setattr(_engine, "core_certificate", certificate)
        result = _measure_undisturbed(0, processors.read_processor(""), 5, lambda _: None)
        return result, asked

    return play


def test_a_class_with_two_steady_rates_is_left_out_without_an_overlap(core):
    passes = [rates(branch=one) for one in (1.99, 1.60, 1.99, 1.65, 1.62)]
    found, asked = core(passes, [{}] * 5)
    note = found.left_out["branch"]
    assert note.code == "unsteady-class"
    assert note.values == {"name": "branch", "low": 1.6, "high": 1.99}
    assert asked[-1] == ["branch"]


def test_a_class_with_a_constant_overlap_is_left_out(core):
    found, asked = core([rates()] * 4, [{"vec_mul": 0.50}, {"vec_mul": 0.52}, {}])
    assert found.left_out["vec_mul"].code == "unsaturated-class"
    assert found.left_out["vec_mul"].values["low"] == 0.5
    assert asked == [[], [], ["vec_mul"]]
    assert not any(cell["a"] == "vec_mul" for cell in found.certificate["overlaps"])


def test_classes_slowed_together_share_their_core(core):
    slow = rates(fp_mul=1.1, fp_add=1.2, int_add=2.6, load=1.8)
    with raises(Inconclusive, "core-shared", name="int_add", slower=["fp_mul", "fp_add", "int_add", "load"]):
        core([rates(), *[slow] * 6], [{}] * 6)


def test_a_temporary_disturbance_leaves_no_class_out(core):
    slow = rates(fp_mul=1.1, fp_add=1.2, int_add=2.6)
    found, _ = core([rates(), slow, rates(), rates()], [{}] * 3)
    assert found.left_out == {}


def test_a_varying_disturbance_is_not_a_property_of_the_core(core):
    shares = [{"store": value} for value in (0.1, 0.6, 0.3, 0.75, 0.45, 0.2)]
    with raises(Inconclusive, "core-disturbed", name="store", value=0.2):
        core([rates()] * 7, shares)


def test_slowed_classes_are_compared_with_their_best_pass():
    assert [one.name for one in find_slowed([rates(), rates(load=2.2)])] == ["load"]
    assert [one.low for one in find_slowed([rates(), rates(load=2.2), rates(load=2.2)])] == [2.2]
    assert find_slowed([rates(load=2.2), rates(), rates(load=2.99)]) == []
    assert find_slowed([rates(load=None), rates(load=None)]) == []


def test_unsaturated_classes_are_those_below_one_with_themselves():
    cells = [{"a": "load", "b": "store", "value": 0.0}, {"a": "store", "b": "store", "value": 0.41}]
    assert find_unsaturated(cells) == [cells[1]]
