"""Studies within a study: the steps of a search, the series of a verification."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from hindmost.plan import MeasurePlan
from hindmost.store import Study

INHERITED = ("created", "version", "python", "host")
"""What a manifest says of the whole and of each of its parts."""


def open_part(whole: Study, folder: Path, plan: MeasurePlan) -> Study:
    """Open a part of a study, new or to go on with; its plan may have changed in how many runs it makes.

    Raises
    ------
    StudyError
        If it cannot be read or written.
    """
    manifest = {key: whole.manifest[key] for key in INHERITED if key in whole.manifest}
    manifest |= {"kind": "measure", "plan": plan.model_dump(mode="json")}
    if not (folder / "manifest.json").exists():
        shutil.rmtree(folder, ignore_errors=True)  # killed before its manifest stood: nothing is in it
        return Study.create(folder, manifest)
    part = Study.open(folder)
    part.manifest["plan"] = manifest["plan"]
    part.write("manifest.json", json.dumps(part.manifest, indent=1))
    return part
