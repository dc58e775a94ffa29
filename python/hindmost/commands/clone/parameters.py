"""Parameters of a clone document by name: ``service[0].law.median_us``, ``threads``, ``locks[1].spin_us``.

Two things go beyond a single field: ``service_factor`` multiplies all service times; and if a weight of a
mixture or the share of a kind changes, the others are scaled so that all sum to 1. ``name`` names a design.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hindmost.errors import UsageError

Value = float | int | str | bool
MOST_VALUES = 10_000

FACTOR = "service_factor"
ABSENT = ("spin_us", "at_most_us", "first", "median_us", "mean_us")
"""Fields that may be set although they are absent (the engine checks where they are allowed)."""
_EITHER = {"median_us": "mean_us", "mean_us": "median_us"}
_PART = re.compile(r"([a-z_]+)((?:\[\d+\])*)")
_RANGE = re.compile(r"([-+\d.e]+)\.\.([-+\d.e]+)(?::(\d+))?", re.IGNORECASE)


@dataclass(frozen=True)
class Vary:
    """A parameter and the values to try."""

    path: str
    values: tuple[Value, ...]


def parse_vary(text: str) -> Vary:
    """Read ``PATH=VALUE,VALUE,...``; ``1..9`` means whole numbers, ``10..50:5`` five evenly spaced values.

    >>> parse_vary("threads=1..4:4").values, parse_vary("load.time=0..1:3").values
    ((1, 2, 3, 4), (0, 0.5, 1))
    """
    path, _, listed = text.partition("=")
    values = tuple(
        value for part in listed.split(",") if part.strip() for value in _values(text, part.strip())
    )
    if not values or not path.strip():
        raise _bad_vary(text, f"--vary {text!r} is not PARAMETER=VALUE,VALUE,...")
    if len(values) > MOST_VALUES:
        raise UsageError(
            "too-many-points",
            f"--vary {text!r} has {len(values):,} values",
            hint=f"at most {MOST_VALUES:,}",
            option="--vary",
            value=len(values),
            most=MOST_VALUES,
        )
    return Vary(path.strip(), values)


def _values(text: str, part: str) -> Iterator[Value]:
    found = _RANGE.fullmatch(part)
    if found is None:
        try:
            value = json.loads(part)
        except ValueError:
            value = None if ".." in part else part
        if not isinstance(value, (int, float, str)) or (
            isinstance(value, float) and not math.isfinite(value)
        ):
            raise _bad_vary(part, f"--vary {text!r}: {part!r} is neither a number nor a word")
        yield _plain(value)
        return
    try:
        low, high, count = float(found[1]), float(found[2]), int(found[3] or 0)
    except ValueError:
        raise _bad_vary(part, f"--vary {text!r}: {part!r} is not a range", "--vary threads=1..8") from None
    if not count and low == int(low) and high == int(high) and low < high <= low + MOST_VALUES:
        yield from range(int(low), int(high) + 1)
    elif 2 <= count <= MOST_VALUES and low < high:
        yield from (_plain(low + (high - low) * step / (count - 1)) for step in range(count))
    else:
        raise _bad_vary(
            part,
            f"--vary {text!r}: {part!r} is not a range: write FIRST..LAST with whole numbers,"
            " or FIRST..LAST:COUNT",
            "--vary 'service[0].law.median_us=100..400:4'",
        )


def _plain(value: Value) -> Value:
    """Convert whole numbers to integers, which all parameters accept and some require."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if whole else value


def _bad_vary(value: str, message: str, hint: str = "--vary threads=1,2,4") -> UsageError:
    return UsageError("bad-value", message, hint=hint, option="--vary", value=value)


def known_paths(document: Mapping[str, Any]) -> list[str]:
    """List the parameters of a document that have a value."""
    skipped = ("schema", "name", "note", "origin")
    found = [FACTOR]
    for name, value in document.items():
        if name not in skipped:
            found += _leaves(name, value)
    return found


def _leaves(path: str, value: Any) -> Iterator[str]:  # noqa: ANN401 (JSON)
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in ("name", "kind"):
                yield from _leaves(f"{path}.{name}", inner)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(f"{path}[{place}]", inner)
    else:
        yield path


def value_at(document: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 (JSON)
    """Return a document's value at a path: None if optional and absent, 1.0 for ``service_factor``.

    Raises
    ------
    UsageError
        There is no such path; the error lists the nearest ones.
    """
    if path == FACTOR:
        return 1.0
    here: Any = document
    keys = _keys(path)
    for place, key in enumerate(keys):
        if _has(here, key):
            here = here[key]
        elif isinstance(here, dict) and place == len(keys) - 1 and key in ABSENT:
            return None
        else:
            raise _unknown(document, path)
    if isinstance(here, (dict, list)) or not keys or keys[0] in ("schema", "note", "origin"):
        raise _unknown(document, path)
    return here


def _has(here: Any, key: str | int) -> bool:  # noqa: ANN401 (JSON)
    if isinstance(key, int):
        return isinstance(here, list) and key < len(here)
    return isinstance(here, dict) and key in here


def _unknown(document: Mapping[str, Any], path: str) -> UsageError:
    known = known_paths(document)
    near = difflib.get_close_matches(path, known, n=3, cutoff=0.5) or known[:6]
    return UsageError(
        "unknown-name",
        f"this clone has no parameter {path!r}; the nearest are {', '.join(near)}",
        hint="hindmost clone show CLONE --json",
        name=path,
        known=known,
        nearest=near,
    )


def _keys(path: str) -> list[str | int]:
    keys: list[str | int] = []
    for part in path.split("."):
        found = _PART.fullmatch(part)
        if found is None:
            return []
        keys += [found[1], *(int(place) for place in re.findall(r"\d+", found[2]))]
    return keys


def changes(document: Mapping[str, Any], setting: Mapping[str, Value]) -> dict[str, Any]:
    """Convert new values of parameters to the engine's changes: JSON pointers with values.

    Raises
    ------
    UsageError
        A parameter is unknown, or weights leave nothing for the others.
    """
    out: dict[str, Any] = {}
    groups: dict[str, dict[int, float]] = {}
    for path, value in setting.items():
        value_at(document, path)
        if path == FACTOR:
            out["/order/regimes"] = _scale_regimes(document, float(value))
            continue
        keys = _keys(path)
        out[_pointer(keys)] = _plain(value)
        if keys[-1] in _EITHER:
            other = [*keys[:-1], _EITHER[str(keys[-1])]]
            siblings: Any = document
            for key in keys[:-1]:
                siblings = siblings[key]
            if siblings.get(other[-1]) is not None:
                out[_pointer(other)] = None
        if keys[-1] == "weight" or (keys[0] == "kinds" and keys[-1] == "share"):
            group = _pointer(keys[:-2])
            groups.setdefault(f"{group} {keys[-1]}", {})[int(keys[-2])] = float(value)
    for group, fixed in groups.items():
        pointer, _, name = group.partition(" ")
        out |= _rescale_weights(document, pointer, name, fixed)
    return out


def apply_changes(document: Mapping[str, Any], setting: Mapping[str, Value]) -> dict[str, Any]:
    """Return a copy of the document with parameters changed."""
    copy: dict[str, Any] = json.loads(json.dumps(document))
    for pointer, value in changes(document, setting).items():
        *parents, last = pointer.strip("/").split("/")
        here: Any = copy
        for key in parents:
            here = here[int(key) if isinstance(here, list) else key]
        here[int(last) if isinstance(here, list) else last] = value
    return copy


def _pointer(keys: list[str | int]) -> str:
    return "".join(f"/{key}" for key in keys)


def _scale_regimes(document: Mapping[str, Any], factor: float) -> list[dict[str, float]]:
    """Scale all service times: change all regimes, or add one."""
    regimes = document["order"].get("regimes") or [{"factor": 1.0, "mean_requests": 1e12}]
    return [{**regime, "factor": regime["factor"] * factor} for regime in regimes]


def _rescale_weights(
    document: Mapping[str, Any], pointer: str, name: str, fixed: Mapping[int, float]
) -> dict[str, Any]:
    """Scale the weights of the other components so that all sum to 1."""
    siblings: Any = document
    for key in pointer.strip("/").split("/"):
        siblings = siblings[int(key) if key.isdigit() else key]
    free = {place: one[name] for place, one in enumerate(siblings) if place not in fixed}
    left, before = 1.0 - sum(fixed.values()), sum(free.values())
    if free and left > 0.0 and before > 0.0:
        return {f"{pointer}/{place}/{name}": value * left / before for place, value in free.items()}
    if free or abs(left) > 1e-6:
        raise UsageError(
            "weights-not-one",
            f"{name}s of {pointer.strip('/')} are set to {', '.join(f'{v:g}' for v in fixed.values())},"
            f" which leaves {left:g} for the others",
            hint="weights of a mixture sum to 1",
            key=pointer.strip("/"),
            value=list(fixed.values()),
            left=left,
        )
    return {}
