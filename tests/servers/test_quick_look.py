"""``--quick`` from end to end: three short runs, words that say so, one screen, and how long the answer took."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from measuring import VERDICTS, hindmost, servers


@pytest.mark.parametrize("target", servers("synth", "memcached"))
def test_a_quick_look_says_that_it_was_one_and_fits_one_screen(target: str, tmp_path: Path) -> None:
    out = tmp_path / "study"
    answer = hindmost("measure", target, "--rate", "2k", "--quick", "--out", out)
    first, *rest = answer.out.splitlines()
    word = re.fullmatch(r". (valid|invalid|inconclusive) \(quick look\)  .*", first)
    assert word is not None, first
    assert answer.code == VERDICTS[word[1]]
    assert "3 runs in" in answer.out
    assert "no precision was asked for" in answer.out
    assert len(rest) < 30, "causes of a bad host add lines, each no more than two with its hint"
    assert re.search(r"^answered [\d.]+ s after the command began$", answer.err, re.MULTILINE)
    long = hindmost("report", out, "--verbose").out
    assert "instrument" in long
    assert long.count("\n") > answer.out.count("\n")
    assert "(quick look)" in (out / "report.html").read_text()
