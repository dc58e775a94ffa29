"""The notebooks of the docs run from top to bottom without a display, and are stored with their outputs."""

from __future__ import annotations

import ast
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from hindmost.testing import VARIABLE

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SETTINGS = {
    'RUNS, DURATION = 10, "2s"': ('RUNS, DURATION = 4, "300ms"', 'RUNS, DURATION = "10..12", "5s"'),
    'BLOCKS, DURATION = 8, "1s"': ('BLOCKS, DURATION = 3, "200ms"', 'BLOCKS, DURATION = 10, "2s"'),
    "REQUESTS = 50_000": ("REQUESTS = 5_000", "REQUESTS = 1_000_000"),
}
"""Settings in the stored notebooks; shorter ones for tests; those that the notebooks recommend."""
PATIENCE_S = 300


def read(path: Path) -> Any:
    return pytest.importorskip("nbformat").read(path, as_version=4)


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def run(notebook: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    monkeypatch.delenv(VARIABLE, raising=False)
    pytest.importorskip("nbclient").NotebookClient(
        notebook, timeout=PATIENCE_S, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()


def use_settings(notebook: Any, place: int) -> None:
    """Use the shorter settings (0), or those that the notebook recommends (1)."""
    changes = 0
    for cell in code_cells(notebook):
        for stored, alternatives in SETTINGS.items():
            changes += stored in cell.source
            cell.source = cell.source.replace(stored, alternatives[place])
    assert changes == 1


def output_kinds(cell: Any) -> list[tuple[str, list[str]]]:
    """Return the kinds of a cell's outputs: figures differ between hosts, kinds do not."""
    return [(output.output_type, sorted(output.get("data", {}))) for output in cell.outputs]


def test_stored_notebooks_have_outputs_and_no_errors():
    assert [path.stem for path in NOTEBOOKS] == ["find-the-cause", "measure-and-compare", "what-if"]
    for path in NOTEBOOKS:
        cells = code_cells(read(path))
        assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), (
            "cells were not run in order"
        )
        outputs = [output for cell in cells for output in cell.outputs]
        assert not [output for output in outputs if output.output_type == "error"]
        assert any("image/svg+xml" in str(output.get("data", {})) for output in outputs), "no figure is shown"
        assert not any("/work/" in str(output) or "/home/" in str(output) for output in outputs)


SHORTENED = [
    pytest.param(path, id=path.stem, marks=[] if path.stem == "what-if" else [pytest.mark.nightly])
    for path in NOTEBOOKS
]
"""Two of them measure for half a minute. ``test_from_python.py`` always makes the same calls."""


def run_cell(source: str, space: dict[str, object]) -> list[tuple[str, list[str]]]:
    """Run a cell in this process; return the kinds of its output, as a kernel would send them."""
    formatters = pytest.importorskip("IPython.core.formatters")
    parsed = ast.parse(source)
    last = parsed.body.pop() if parsed.body and isinstance(parsed.body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as output:
        exec(compile(parsed, "cell", "exec"), space)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), space) if last else None
    kinds_shown = [("stream", [])] if output.getvalue() else []
    if value is not None:
        data, _ = formatters.DisplayFormatter().format(value)
        kinds_shown.append(("execute_result", sorted(data)))
    return kinds_shown


@pytest.mark.parametrize("path", SHORTENED)
def test_a_notebook_runs_and_gives_the_stored_kinds_of_output(path, tmp_path, monkeypatch):
    for library in ("polars", "pandas"):
        pytest.importorskip(library)
    stored, shortened = read(path), read(path)
    use_settings(shortened, 0)
    monkeypatch.chdir(tmp_path)
    for cell in code_cells(shortened):  # real runs of a server that spins
        cell.source = cell.source.replace("runs=3", "runs=2").replace('"500ms"', '"200ms"')
    space: dict[str, object] = {}
    for before, after in zip(code_cells(stored), code_cells(shortened), strict=True):
        assert run_cell(after.source, space) == output_kinds(before), after.source


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(3 * PATIENCE_S)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_with_its_recommended_settings(path, tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    notebook = read(path)
    use_settings(notebook, 1)
    run(notebook, tmp_path, monkeypatch)
