"""Workload files: errors with their line, named mixes, and files of Treadmill."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from messages import raises
from rows import each_row
from scipy import stats

from hindmost.core.plan import load_workload
from hindmost.core.plan.workload import named_workloads
from hindmost.core.run.request import MeasureRequest
from hindmost.errors import UsageError

MISTAKES = [
    ('{"keys": 9,\n "popularity": {"zipff": 1.0}}', "unknown-key", "popularity.zipff", 2),
    ('{"keys": 9,\n "popularity": "unifrom"}', "bad-value", "popularity", 2),
    (
        '{\n "popularity": {"hot-set":\n {"keys": 0.1, "request": 1}}}',
        "unknown-key",
        "popularity.hot-set.request",
        3,
    ),
    ('{\n\n "value_bytes": {"lognormall": {}}}', "unknown-key", "value_bytes.lognormall", 3),
    (
        '{\n "value_bytes": {"lognormal": {"median": 1}}}',
        "missing-argument",
        "value_bytes.lognormal.sigma",
        2,
    ),
    (
        '{\n "value_bytes": {"normal": {"mean": "x", "deviation": 2}}}',
        "bad-value",
        "value_bytes.normal.mean",
        2,
    ),
    (
        '{\n "value_bytes": {"lognormal": {"median": 9, "sigma": -2}}}',
        "bad-value",
        "value_bytes.lognormal.sigma",
        2,
    ),
    ('{\n "key_bytes": {"normal": {"mean": 30, "deviation": 9}}}', "bad-value", "key_bytes", 2),
    ('{\n "ttl_s": 0}', "bad-value", "ttl_s", 2),
    ('{\n "key_prefx": "a"}', "unknown-key", "key_prefx", 2),
    ('{\n "key_names": ["a",\n "a"]}', "bad-value", "key_names", 2),
    ('{\n "key_names": {"flie": "a"}}', "bad-value", "key_names", 2),
    ('{\n "popularity": {"weights": [0.0, 0.0]}, "keys": 2}', "bad-value", "popularity.weights", 2),
]


def workload_plan(path: Path) -> dict[str, Any]:
    """Return a workload with the defaults of the engine."""
    return MeasureRequest.from_options({"target": "memcached", "workload": path}).plan().workload


@pytest.mark.parametrize(("text", "code", "key", "line"), MISTAKES)
def test_an_error_is_refused_with_file_line_and_key(tmp_path, text, code, key, line):
    file = tmp_path / "mix.json"
    file.write_text(text)
    with raises(UsageError, code, path=str(file), line=line, key=key):
        workload_plan(file)


def test_a_file_of_key_names_must_exist(tmp_path):
    file = tmp_path / "mix.json"
    file.write_text('{"key_names": {"file": "none.txt"}}')
    with raises(UsageError, "no-such-file", key="key_names.file", path=str(tmp_path / "none.txt")):
        workload_plan(file)


def test_a_file_overrides_a_named_workload_and_unknown_names_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raises(UsageError, "unknown-name", name="facebook-ect", known=list(named_workloads())):
        load_workload(Path("facebook-ect"))
    Path("facebook-etc").write_text('{"keys": 7}')  # a file has priority over a name
    assert load_workload(Path("facebook-etc"))["keys"] == 7


def test_a_file_of_key_names_is_beside_the_workload(tmp_path):
    (tmp_path / "names.txt").write_text("one\n\ntwo\nthree\n")
    (tmp_path / "mix.json").write_text('{"about": "x", "key_names": {"file": "names.txt"}}')
    workload = load_workload(tmp_path / "mix.json")
    assert (workload["keys"], workload["key_names"]) == (3, {"file": str(tmp_path / "names.txt")})
    assert "about" not in workload


@each_row("name", sorted(named_workloads()))
def test_every_named_mix_has_a_source_and_is_valid(name):
    text = json.loads(named_workloads()[name].read_text())
    assert "SIGMETRICS 2012" in " ".join(text["about"])
    assert workload_plan(Path(name))["keys"] == 100_000


def _mean(law: Any, below: int = 1_000_001) -> float:
    """Return mean and share of a law from the masses of scipy's law at whole numbers."""
    if isinstance(law, int):
        return float(law)
    (kind, said), *_ = law.items()
    if kind in ("choice", "mixture"):
        total = sum(weight for _, weight in said)
        return sum(_mean(one) * weight for one, weight in said) / total
    low, high = said["least"], said["most"]
    result = (
        stats.genpareto(said["shape"], said["location"], said["scale"])
        if kind == "generalised-pareto"
        else stats.genextreme(-said["shape"], said["location"], said["scale"])
    )
    return float(result.expect(lambda x: x, lb=low, ub=high, conditional=True, limit=200))


def test_the_etc_mix_has_the_moments_of_its_paper():
    mix = load_workload(Path("facebook-etc"))
    assert mix["get_ratio"] / (1 - mix["get_ratio"]) == pytest.approx(30.0, rel=1e-4)  # "30:1"
    # Mean and standard deviation of a GEV law, in closed form of the published parameters.
    location, scale, k = 30.7984, 8.20449, 0.078688
    g1, g2 = math.gamma(1 - k), math.gamma(1 - 2 * k)
    law = mix["key_bytes"]["generalised-extreme-value"]
    result = stats.genextreme(-law["shape"], law["location"], law["scale"])
    assert result.mean() == pytest.approx(location + scale * (g1 - 1) / k, rel=1e-9)
    assert result.std() == pytest.approx(scale * math.sqrt(g2 - g1**2) / k, rel=1e-9)
    # The limits of 5 and 250 bytes exclude less than one key in 10,000.
    assert result.cdf(4.5) + result.sf(250.5) < 1e-4
    (small, few), (large, most) = mix["value_bytes"]["mixture"]
    assert sum(weight for _, weight in small["choice"]) == pytest.approx(few)
    assert few + most == pytest.approx(1.0)
    # A generalised Pareto law above 15 bytes is one with a scale larger by shape times 15, so its mean is exact.
    sigma, shape = 214.476, 0.348238
    assert _mean(large) == pytest.approx(15 + (sigma + shape * 15) / (1 - shape), rel=5e-3)
    ranks = [r ** -mix["popularity"]["zipf"] for r in range(1, mix["keys"] + 1)]
    assert sum(ranks[50_000:]) / sum(ranks) == pytest.approx(
        0.01, abs=0.001
    )  # "50 % of keys in 1 % of requests"


def test_the_usr_and_var_mixes_are_within_the_published_ranges():
    usr, var = load_workload(Path("facebook-usr")), load_workload(Path("facebook-var"))
    assert (usr["get_ratio"], usr["value_bytes"]) == (0.998, 2)
    assert {size for size, _ in usr["key_bytes"]["choice"]} == {16, 21}
    assert var["get_ratio"] < 0.5
    assert var["key_bytes"]["mixture"][0] == [31, 0.9]
    assert var["value_bytes"]["mixture"][0] == [{"uniform": [16, 499]}, 0.9]


def treadmills(count: int = 4, **changed: Any) -> list[dict[str, Any]]:
    """Return a file like Treadmill's ``examples/flat.json``."""
    return [
        {
            "operation_cdf": [[0.7, "get_operation"], [1.0, "set_operation"]],
            "object_size_cdf": [[0.5, 256], [1.0, 512]],
            "key_cdf": (number + 1) / count,
            "key": str(number),
        }
        | (changed if number == count - 1 else {})
        for number in range(count)
    ]


def test_a_treadmill_file_is_read(tmp_path):
    file = tmp_path / "flat.json"
    file.write_text(json.dumps(treadmills()))
    result = workload_plan(file)
    assert (result["get_ratio"], result["keys"], result["key_names"]) == (0.7, 4, ["0", "1", "2", "3"])
    assert result["value_bytes"] == {"choice": [[256, 0.5], [512, 0.5]]}
    assert result["popularity"] == "uniform"
    uneven = treadmills(2)
    uneven[0]["key_cdf"] = 0.8
    file.write_text(json.dumps(uneven))
    assert workload_plan(file)["popularity"] == {"weights": [0.8, 0.2]}


@pytest.mark.parametrize(
    ("changed", "code", "fields"),
    [
        ({"object_size_cdf": [[1.0, 99]]}, "unsupported", {"key": "object_size_cdf", "number": 4}),
        ({"key_cdf": 0.9}, "bad-file", {"key": "key_cdf"}),
        ({"key_cfd": 1}, "unknown-key", {"key": "key_cfd", "number": 4}),
    ],
)
def test_unsupported_parts_of_a_treadmill_file_are_refused(tmp_path, changed, code, fields):
    file = tmp_path / "flat.json"
    file.write_text(json.dumps(treadmills(**changed)))
    with raises(UsageError, code, path=str(file), **fields):
        load_workload(file)


def test_an_unsupported_operation_of_treadmill_is_refused(tmp_path):
    file = tmp_path / "flat.json"
    records = treadmills()
    for record in records:
        record["operation_cdf"] = [[0.7, "get_operation"], [1.0, "delete_operation"]]
    file.write_text(json.dumps(records))
    with raises(UsageError, "unknown-name", path=str(file), name="delete_operation"):
        load_workload(file)
