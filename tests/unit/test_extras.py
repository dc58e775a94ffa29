"""Each optional library has an extra, and the error without the library names it."""

import re
import sys
import tomllib
from pathlib import Path

import pytest
from messages import raises

from hindmost.core.fleet.opening import need_dask
from hindmost.core.frames import import_library
from hindmost.core.plan.grpc import Descriptors
from hindmost.errors import HindmostError
from hindmost.stats import QuantileRegression

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
NEEDS = {
    "formula": ("formulaic", lambda: QuantileRegression.from_formula("y ~ x", {})),
    "fleet": ("distributed", need_dask),
    "grpc": ("google.protobuf.json_format", lambda: Descriptors(Path("shop.binpb"))),
    "pandas": ("pandas", lambda: import_library("pandas")),
    "polars": ("polars", lambda: import_library("polars")),
}
"""The module whose absence is an error, and what needs it, by extra."""


def test_every_extra_is_needed_by_something():
    assert set(EXTRAS) == set(NEEDS)


@pytest.mark.parametrize("extra", NEEDS)
def test_the_error_without_a_library_names_its_extra(extra, monkeypatch):
    module, act = NEEDS[extra]
    monkeypatch.setitem(sys.modules, module, None)
    with raises(HindmostError, "missing-library") as caught:
        act()
    assert re.findall(r"hindmost\[(\w+)\]", caught.value.hint) == [extra]
