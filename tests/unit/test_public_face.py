"""The public interface: its names, what it loads, and that its stub agrees with the engine."""

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rows import each_row

import hindmost
from hindmost import _engine, agent

STUB = Path(hindmost.__file__).with_name("_engine.pyi")
HEAVY = ("polars", "scipy", "numpy", "pydantic", "jinja2", "msgspec")


def modules_after(code: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter has after running some code."""
    script = (
        f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)"
    )
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    return {name.partition(".")[0] for name in process.stderr.split()}


@each_row("name", hindmost.__all__)
def test_every_public_name_exists_and_is_documented(name):
    assert inspect.getdoc(getattr(hindmost, name))
    assert name in dir(hindmost)


def test_an_unknown_name_is_an_error():
    with pytest.raises(AttributeError):
        _ = hindmost.colour


def test_all_lists_the_lazy_names():
    assert set(hindmost.__all__) == set(hindmost._HOME)
    assert hindmost.__all__ == sorted(hindmost.__all__)


def test_versions_agree():
    assert hindmost.__version__ == _engine.__version__


def test_importing_the_package_loads_no_dependencies():
    assert not modules_after("import hindmost") & {*HEAVY, "rich", "cyclopts", "_engine"}


def test_a_load_agent_loads_nothing_but_the_engine_and_the_standard_library():
    before = modules_after("pass")
    loaded = modules_after("import hindmost.agent") - before
    assert loaded <= {"hindmost", "__mp_main__"} | set(sys.stdlib_module_names)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["measure", "--help"],
        ["clone", "fit", "--help"],
        ["colocate", "pairs", "--help"],
        ["harvest", "classify", "--help"],
        ["watch", "start", "--help"],
        ["--version"],
        ["mesure"],
    ],
)
def test_help_loads_nothing_heavy(arguments):
    assert not modules_after(f"from hindmost.cli import main; main({arguments})") & set(HEAVY)


@pytest.mark.parametrize("arguments", [[], ["client"], ["client", "a"], ["synth"], ["colour"], ["--help"]])
def test_an_agent_with_wrong_arguments_prints_its_usage(arguments, capsys):
    assert agent.main(arguments) == 2
    out, err = capsys.readouterr()
    assert not out
    assert "python -m hindmost.agent" in err


def test_an_agent_reports_a_bad_plan_in_its_own_protocol(capsys):
    assert agent.main(["synth", "{"]) == 1
    event = json.loads(capsys.readouterr().out)
    assert (event["event"], event["code"]) == ("failed", "config")


def stub_names() -> dict[str, ast.stmt]:
    names: dict[str, ast.stmt] = {}
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[node.target.id] = node
    return names


def test_the_stub_has_the_names_of_the_engine():
    public = {name for name in dir(_engine) if not name.startswith("_")} | {"__version__"}
    assert set(stub_names()) == public


def test_the_stub_has_the_members_of_a_histogram():
    node = stub_names()["Histogram"]
    assert isinstance(node, ast.ClassDef)
    names = {
        item.name if isinstance(item, ast.FunctionDef) else item.target.id
        for item in node.body
        if isinstance(item, ast.FunctionDef | ast.AnnAssign)
    }
    assert names - {"__init__"} == {name for name in dir(_engine.Histogram) if not name.startswith("_")}


def stub_signature(node: ast.FunctionDef, *, method: bool) -> list[tuple[str, str]]:
    arguments = node.args
    positional = arguments.args[1:] if method else arguments.args
    defaults = [None] * (len(positional) - len(arguments.defaults)) + [
        ast.unparse(d) for d in arguments.defaults
    ]
    out = [(argument.arg, default or "") for argument, default in zip(positional, defaults, strict=True)]
    return out + [
        (argument.arg, ast.unparse(default) if default else "")
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]


def engine_signature(function: object) -> list[tuple[str, str]]:
    return [
        (parameter.name, "" if parameter.default is parameter.empty else repr(parameter.default))
        for parameter in inspect.signature(function).parameters.values()  # type: ignore[arg-type]
        if parameter.name != "self"
    ]


def test_the_stub_has_every_argument_and_default():
    for name, node in stub_names().items():
        if isinstance(node, ast.FunctionDef):
            assert stub_signature(node, method=False) == engine_signature(getattr(_engine, name)), name
        if isinstance(node, ast.ClassDef) and name == "Histogram":
            for item in node.body:
                if isinstance(item, ast.FunctionDef) and item.name != "__init__":
                    assert stub_signature(item, method=True) == engine_signature(
                        getattr(_engine.Histogram, item.name)
                    ), item.name


def test_every_error_has_its_exit_code():
    from hindmost import errors

    codes = {
        name: error.exit_code
        for name, error in vars(errors).items()
        if isinstance(error, type) and issubclass(error, errors.HindmostError)
    }
    assert codes == {
        "HindmostError": 1,
        "UsageError": 2,
        "ArgumentError": 2,
        "TargetError": 1,
        "ClientError": 1,
        "HostLost": 1,
        "StudyError": 1,
        "Inconclusive": 4,
        "HostUnfit": 5,
        "InvalidMeasurement": 6,
        "Interrupted": 130,
    }
    assert errors.HindmostError("bad-value", "x", exit_code=9).exit_code == 9
