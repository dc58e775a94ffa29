"""Studies within a study: the steps of a search, the series of a comparison."""

from __future__ import annotations

import shutil
from pathlib import Path

from hindmost.core.plan import MeasurePlan
from hindmost.core.store import Study

INHERITED = ("created", "version", "python", "host")
"""Manifest entries that a study and its parts have in common."""


def open_part(whole: Study, folder: Path, plan: MeasurePlan) -> Study:
    """Open a part of a study, new or existing; only the number of runs in its plan may have changed.

    Raises
    ------
    StudyError
        The part cannot be read or written.
    """
    manifest = {key: whole.manifest[key] for key in INHERITED if key in whole.manifest}
    manifest |= {"kind": "measure", "plan": plan.model_dump(mode="json")}
    if not (folder / "manifest.json").exists():
        shutil.rmtree(folder, ignore_errors=True)  # killed before its manifest was written, so it is empty
        return Study.create(folder, manifest)
    part = Study.open(folder)
    part.update(plan=manifest["plan"])
    return part
