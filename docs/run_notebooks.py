"""Run the notebooks and store their outputs: ``setup/run python docs/run_notebooks.py [NAME...]``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent / "notebooks"


def main(names: list[str]) -> int:
    """Run the notebooks of `names`, or all, each in an empty folder."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            place = {"metadata": {"path": folder}}
            NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute()
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # times of day
        nbformat.write(notebook, path)
        print(f"{path.stem}: done", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
