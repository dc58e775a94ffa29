"""The notebooks of the docs run from top to bottom without a screen, and are kept with what they gave."""

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
"""Those that notebooks are kept with; shorter ones, as forms alone are compared; those that they recommend."""
PATIENCE_S = 300


def read(path: Path) -> Any:
    return pytest.importorskip("nbformat").read(path, as_version=4)


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def run(notebook: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setenv("IPYTHONDIR", str(folder / "ipython"))
    monkeypatch.delenv(VARIABLE, raising=False)
    pytest.importorskip("nbclient").NotebookClient(
        notebook, timeout=PATIENCE_S, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()


def set_to(notebook: Any, place: int) -> None:
    """Use the shorter settings (0), or those that the notebook itself names for figures to rely on (1)."""
    changed = 0
    for cell in code(notebook):
        for kept, others in SETTINGS.items():
            changed += kept in cell.source
            cell.source = cell.source.replace(kept, others[place])
    assert changed == 1


def kinds(cell: Any) -> list[tuple[str, list[str]]]:
    """What a cell gave, by kind: figures differ from host to host, their form does not."""
    return [(one.output_type, sorted(one.get("data", {}))) for one in cell.outputs]


def test_kept_notebooks_have_their_outputs_and_no_error():
    assert [path.stem for path in NOTEBOOKS] == ["find-the-cause", "measure-and-compare", "what-if"]
    for path in NOTEBOOKS:
        cells = code(read(path))
        assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), "run in one go"
        given = [one for cell in cells for one in cell.outputs]
        assert not [one for one in given if one.output_type == "error"]
        assert any("image/svg+xml" in str(one.get("data", {})) for one in given), "a figure is shown"
        assert not any("/work/" in str(one) or "/home/" in str(one) for one in given)


SHORTENED = [
    pytest.param(path, id=path.stem, marks=[] if path.stem == "what-if" else [pytest.mark.nightly])
    for path in NOTEBOOKS
]
"""Two of them measure for half a minute; ``test_from_python.py`` makes the same calls every time."""


def shown(source: str, space: dict[str, object]) -> list[tuple[str, list[str]]]:
    """What a cell gives in this process: the forms of its last value, as a kernel would send them."""
    formatters = pytest.importorskip("IPython.core.formatters")
    parsed = ast.parse(source)
    last = parsed.body.pop() if parsed.body and isinstance(parsed.body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as said:
        exec(compile(parsed, "cell", "exec"), space)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), space) if last else None
    found = [("stream", [])] if said.getvalue() else []
    if value is not None:
        data, _ = formatters.DisplayFormatter().format(value)
        found.append(("execute_result", sorted(data)))
    return found


@pytest.mark.parametrize("path", SHORTENED)
def test_a_notebook_runs_and_gives_what_is_kept(path, tmp_path, monkeypatch):
    for library in ("polars", "pandas"):
        pytest.importorskip(library)
    kept, now = read(path), read(path)
    set_to(now, 0)
    monkeypatch.chdir(tmp_path)
    for cell in code(now):  # real runs of a server that spins
        cell.source = cell.source.replace("runs=3", "runs=2").replace('"500ms"', '"200ms"')
    space: dict[str, object] = {}
    for before, after in zip(code(kept), code(now), strict=True):
        assert shown(after.source, space) == kinds(before), after.source


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(3 * PATIENCE_S)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_with_the_settings_that_it_recommends(path, tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    notebook = read(path)
    set_to(notebook, 1)
    run(notebook, tmp_path, monkeypatch)
