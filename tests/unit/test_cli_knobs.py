"""``hindmost host knobs``: its output, its refusals, and one real setting that is changed and restored."""

import json
import os
import re
from pathlib import Path

import pytest

from hindmost.cli import main
from hindmost.core.knobs import KINDS

SETTING = "tcp_autocorking"
FILE = Path("/proc/sys/net/ipv4/tcp_autocorking")


def knobs(capsys: pytest.CaptureFixture[str], *arguments: str, journal: Path) -> tuple[int, str, str]:
    code = main(["host", "knobs", *arguments, "--journal", str(journal)])
    output = capsys.readouterr()
    return code, output.out, output.err


def test_all_knobs_are_listed_and_missing_ones_have_a_reason(tmp_path, capsys) -> None:
    code, out, _ = knobs(capsys, "list", "--all", "--json", journal=tmp_path)
    assert code == 0
    all_knobs = {knob["name"]: knob for knob in json.loads(out)["knobs"]}
    assert {"thp", "swappiness", "busy_poll", SETTING} <= set(all_knobs)
    for knob in all_knobs.values():
        assert knob["value"] is not None or knob["missing"], knob
    kinds = {kind["kind"]: kind for kind in json.loads(out)["kinds"]}
    assert set(kinds) == set(KINDS) - {"host"}
    code, out, _ = knobs(capsys, "list", journal=tmp_path)
    assert code == 0
    for kind in kinds.values():
        assert kind["example"] in out
    assert not list(tmp_path.iterdir()), "listing must write nothing"


@pytest.mark.parametrize(
    ("arguments", "code", "values"),
    [
        (["get", "swapiness"], "unknown-name", ["swapiness", "swappiness"]),
        (["set", "nothing", "1"], "unknown-name", ["nothing"]),
        (["set", SETTING, "perhaps"], "bad-value", [SETTING, "perhaps"]),
    ],
)
def test_an_unknown_knob_or_value_is_refused(tmp_path, capsys, arguments, code, values) -> None:
    exit_code, _, err = knobs(capsys, *arguments, journal=tmp_path)
    if exit_code == 5:
        pytest.skip(f"settings cannot be written here: {err}")
    assert exit_code == 2
    assert err.startswith(f"error[{code}]: ")
    assert all(value in err for value in values)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can change settings")
def test_a_setting_is_changed_shown_and_restored(tmp_path, capsys) -> None:
    try:
        FILE.write_text(FILE.read_text())
    except OSError as error:
        pytest.skip(f"settings cannot be written here: {error}")
    before = FILE.read_text().strip()
    other_level = "off" if before == "1" else "on"
    try:
        code, out, err = knobs(capsys, "set", SETTING, other_level, journal=tmp_path)
        assert code == 0, err
        assert re.search(rf"^{SETTING} +{other_level} ", out, re.MULTILINE)
        assert "hindmost host knobs restore" in err
        assert FILE.read_text().strip() != before
        code, out, _ = knobs(capsys, "get", SETTING, "--json", journal=tmp_path)
        (knob,) = json.loads(out)["knobs"]
        assert (knob["value"], knob["found"] is None) == (other_level, False)
    finally:
        code, out, err = knobs(capsys, "restore", journal=tmp_path)
    assert code == 0, err
    assert SETTING in out
    assert FILE.read_text().strip() == before
    assert SETTING not in knobs(capsys, "restore", journal=tmp_path)[1]
