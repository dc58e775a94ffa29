"""Writes the JSON Schema of every format into a folder: ``make schemas``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from workload_page import workload_schema

from hindmost import _engine
from hindmost.core.plan import factorial
from hindmost.core.store.schema import schemas
from hindmost.core.targets import spec


def texts() -> dict[str, str]:
    """Each schema by the name of its format: ``measure`` for ``hindmost.measure/2``."""
    written = {name: json.dumps(schema, indent=1) + "\n" for name, schema in schemas().items()}
    return written | {
        "clone": _engine.clone_schema() + "\n",
        "factorial": factorial.json_schema_text(),
        "plan": _engine.plan_schema() + "\n",
        "target": spec.json_schema_text(),
        "workload": workload_schema(),
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts().items():
        (folder / f"{name}.schema.json").write_text(text, encoding="utf-8")
