"""The workload file's schema and its page of reference, both from what the engine says of a plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]


def workload_schema() -> str:
    """JSON Schema of a workload file: what a plan holds as ``workload``, and keys for readers."""
    from hindmost import _engine

    plan = json.loads(_engine.plan_schema())
    found = {"$schema": plan["$schema"], "title": "Workload file", **plan["$defs"]["Workload"]}
    for kind in found["oneOf"]:
        kind["properties"] |= {
            "$schema": {"type": "string", "description": "For editors; not read."},
            "about": {"description": "For readers; not read."},
        }
    # Where no kind is named, it is the first.
    found["oneOf"][0]["required"].remove("kind")
    found["$defs"] = {name: plan["$defs"][name] for name in sorted(_reached(found, plan["$defs"]))}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _reached(part: Any, every: Schema) -> set[str]:  # noqa: ANN401 (any piece of JSON)
    """Names of all definitions that a piece of a schema leads to."""
    names: set[str] = set()
    waiting = [part]
    while waiting:
        for name in {ref.rpartition("/")[2] for ref in _references(waiting.pop())} - names:
            names.add(name)
            waiting.append(every[name])
    return names


def _references(part: Any) -> Iterator[str]:  # noqa: ANN401 (any piece of JSON)
    if isinstance(part, dict):
        if "$ref" in part:
            yield part["$ref"]
        for one in part.values():
            yield from _references(one)
    elif isinstance(part, list):
        for one in part:
            yield from _references(one)


def workload_page() -> str:
    """Reference of workload files: each kind's keys, then what they are made of."""
    schema = json.loads(workload_schema())
    parts = [_HEAD]
    for kind in schema["oneOf"]:
        name = kind["properties"]["kind"]["const"]
        keys = {
            key: one for key, one in kind["properties"].items() if key not in ("kind", "$schema", "about")
        }
        parts.append(f'## `"kind": "{name}"`\n\n{_sentence(kind)}\n\n{_table(keys, kind)}\n')
    parts.append("## Types\n")
    parts += [f"### {name}\n\n{_definition(one)}\n" for name, one in schema["$defs"].items()]
    return "\n".join(parts) + "\n" + _tail()


def _sentence(one: Schema) -> str:
    return " ".join(one.get("description", "").split())


def _table(keys: Schema, within: Schema) -> str:
    rows = ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
    for key, one in keys.items():
        usual = "required" if key in within.get("required", ()) else _usual(one)
        rows.append(f"| `{key}` | {_type(one)} | {usual} | {_cell(_sentence(one))} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _usual(one: Schema) -> str:
    return f"`{json.dumps(one['default'])}`" if "default" in one else ""


def _type(one: Schema) -> str:
    if "$ref" in one:
        name = one["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in one:
        return " or ".join(_type(each) for each in one["anyOf"] if each.get("type") != "null")
    if "const" in one:
        return f"`{json.dumps(one['const'])}`"
    if "enum" in one:
        return " or ".join(f"`{json.dumps(each)}`" for each in one["enum"])
    if "prefixItems" in one:
        return f"[{', '.join(_type(each) for each in one['prefixItems'])}]"
    kind = one.get("type", "any")
    if isinstance(kind, list):
        kind = next(each for each in kind if each != "null")
    if kind == "array":
        return f"list of {_type(one.get('items', {}))}"
    return {"integer": "whole number", "boolean": "true or false", "object": "object"}.get(kind, kind)


def _definition(one: Schema) -> str:
    """A law or an object: its alternatives, or its keys."""
    said = _sentence(one)
    choices = one.get("oneOf") or one.get("anyOf")
    if choices is None:
        return (
            f"{said}\n\n{_table(one['properties'], one)}" if "properties" in one else f"{said} {_type(one)}"
        )
    rows = ["| value | meaning |", "| --- | --- |"]
    for choice in choices:
        rows += [
            f"| {_written(each)} | {_cell(_sentence(each) or _sentence(choice))} |" for each in _each(choice)
        ]
    return f"{said}\n\n" + "\n".join(rows)


def _each(choice: Schema) -> list[Schema]:
    """A choice that lists several texts, as one each."""
    return [{"const": one} for one in choice["enum"]] if "enum" in choice else [choice]


def _written(choice: Schema) -> str:
    if "properties" not in choice:
        return _type(choice)
    return ", ".join(f'`{{"{key}": …}}` with {_type(one)}' for key, one in choice["properties"].items())


_HEAD = """\
# Workload files

Generated from the types of `crates/plan/src/workload` by `docs/generate.py`; do not edit. `make schemas`
writes `schemas/workload.schema.json`: with it as `"$schema"`, an editor completes and checks keys.

`hindmost measure TARGET --workload FILE` takes a JSON object, the name of a published mix (below), or one of
Treadmill's own files. An error names the file, the line and the nearest valid key. `"about"` is for readers.
"""


def _tail() -> str:
    from hindmost.core.plan.workload import named_workloads

    rows = ["## Published mixes\n", "| name | source |", "| --- | --- |"]
    for name, path in named_workloads().items():
        rows.append(f"| `{name}` | {' '.join(json.loads(path.read_text())['about'])} |")
    return "\n".join(rows) + "\n\n" + _TREADMILL


_TREADMILL = """\
## Treadmill's own files

Hindmost reads a list with an object for each key, like flat.json of Treadmill's examples, as a `key-value`
mix:

| Treadmill | here |
| --- | --- |
| `key` | `key_names`, in their order |
| `key_cdf` | `popularity`: `uniform` if all shares are equal, else `weights` |
| `operation_cdf` | `get_ratio`; operations other than `get_operation` and `set_operation` are refused |
| `object_size_cdf` | `value_bytes`: `choice` |

An error names a key whose operations or sizes differ from the first key's, because all keys share one mix.
Treadmill's other settings are flags of its command line: `--request_per_second` is `--rate`,
`--number_of_connections` `--connections`, `--number_of_workers` `--threads`, `--runtime` `--duration`,
`--cpu_affinity` `--client-cpus`, and `--number_of_keys` the key `keys` above.
"""
