"""``hindmost host knobs``: what is said, what is refused, and one real setting that is put back."""

import json
import os
import re
from pathlib import Path

import pytest

from hindmost.cli import main
from hindmost.knobs import KINDS

SETTING = "tcp_autocorking"
FILE = Path("/proc/sys/net/ipv4/tcp_autocorking")


def knobs(capsys: pytest.CaptureFixture[str], *words: str, journal: Path) -> tuple[int, str, str]:
    code = main(["host", "knobs", *words, "--journal", str(journal)])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_all_knobs_are_listed_those_that_are_absent_with_the_reason(tmp_path, capsys) -> None:
    code, out, _ = knobs(capsys, "list", "--all", "--json", journal=tmp_path)
    assert code == 0
    listed = {knob["name"]: knob for knob in json.loads(out)["knobs"]}
    assert {"thp", "swappiness", "busy_poll", SETTING} <= set(listed)
    for knob in listed.values():
        assert knob["value"] is not None or knob["missing"], knob
    kinds = {kind["kind"]: kind for kind in json.loads(out)["kinds"]}
    assert set(kinds) == set(KINDS) - {"host"}
    code, out, _ = knobs(capsys, "list", journal=tmp_path)
    assert code == 0
    for kind in kinds.values():
        assert kind["example"] in out
    assert not list(tmp_path.iterdir()), "listing writes nothing"


@pytest.mark.parametrize(
    ("words", "code", "values"),
    [
        (["get", "swapiness"], "unknown-name", ["swapiness", "swappiness"]),
        (["set", "nothing", "1"], "unknown-name", ["nothing"]),
        (["set", SETTING, "perhaps"], "bad-value", [SETTING, "perhaps"]),
    ],
)
def test_an_unknown_knob_or_value_is_refused(tmp_path, capsys, words, code, values) -> None:
    found, _, err = knobs(capsys, *words, journal=tmp_path)
    if found == 5:
        pytest.skip(f"settings cannot be written here: {err}")
    assert found == 2
    assert err.startswith(f"error[{code}]: ")
    assert all(value in err for value in values)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes settings")
def test_a_setting_is_changed_told_and_put_back(tmp_path, capsys) -> None:
    try:
        FILE.write_text(FILE.read_text())
    except OSError as error:
        pytest.skip(f"settings cannot be written here: {error}")
    before = FILE.read_text().strip()
    other = "off" if before == "1" else "on"
    try:
        code, out, err = knobs(capsys, "set", SETTING, other, journal=tmp_path)
        assert code == 0, err
        assert re.search(rf"^{SETTING} +{other} ", out, re.MULTILINE)
        assert "hindmost host knobs restore" in err
        assert FILE.read_text().strip() != before
        code, out, _ = knobs(capsys, "get", SETTING, "--json", journal=tmp_path)
        (found,) = json.loads(out)["knobs"]
        assert (found["value"], found["found"] is None) == (other, False)
    finally:
        code, out, err = knobs(capsys, "restore", journal=tmp_path)
    assert code == 0, err
    assert SETTING in out
    assert FILE.read_text().strip() == before
    assert SETTING not in knobs(capsys, "restore", journal=tmp_path)[1]
