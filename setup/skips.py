"""The register of skips: `setup/skips.py FILE`, at the end of `make test`.

Every ring appends one line a skip to the file that `HINDMOST_SKIPS` names: the test, a tab, the reason
(`tests/conftest.py` for pytest, `crates/skips` for Rust). One table tells them all. `tests/skips.toml` says
which are expected, and why; any other is told as unexpected, and fails the run in CI.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

EXPECTED = Path(__file__).parent.parent / "tests" / "skips.toml"
NAMED = 5


@dataclass(frozen=True)
class Skip:
    """A test that showed nothing here."""

    test: str
    reason: str


@dataclass(frozen=True)
class Expected:
    """Skips that are no surprise where `when`, a shell command, succeeds; everywhere, if it has none."""

    tests: str
    reason: str
    because: str
    when: str = "true"

    def covers(self, skip: Skip) -> bool:
        """Whether `skip` is one of these."""
        return fnmatchcase(skip.test, self.tests) and fnmatchcase(skip.reason, self.reason)

    def holds(self) -> bool:
        """Whether the condition holds on this host."""
        return subprocess.run(["sh", "-c", self.when], capture_output=True, check=False).returncode == 0


def registered(register: Path) -> list[Skip]:
    """All skips of a register, in order; none where no ring wrote one."""
    lines = register.read_text().splitlines() if register.exists() else []
    return [Skip(*line.split("\t", 1)) for line in dict.fromkeys(lines)]


def expected(file: Path) -> list[Expected]:
    """The entries of a `skips.toml`."""
    return [Expected(**entry) for entry in tomllib.loads(file.read_text()).get("skip", [])]


def why(skip: Skip, entries: list[Expected]) -> str | None:
    """Why this skip is expected here; `None` where it is not."""
    return next((entry.because for entry in entries if entry.covers(skip) and entry.holds()), None)


def table(skips: list[Skip], reasons: dict[Skip, str | None]) -> str:
    """Skips by reason, the unexpected first."""
    groups: dict[tuple[bool, str], list[Skip]] = {}
    for skip in skips:
        groups.setdefault((reasons[skip] is not None, skip.reason), []).append(skip)
    lines = []
    for (is_expected, reason), group in sorted(groups.items(), key=lambda item: item[0]):
        lines.append(f"{len(group):4}  {'expected' if is_expected else 'UNEXPECTED':10}  {reason}")
        if because := reasons[group[0]]:
            lines.append(f"                  {because}")
        lines += [f"        {skip.test}" for skip in group[:NAMED]]
        if len(group) > NAMED:
            lines.append(f"        ... and {len(group) - NAMED} more")
    return "\n".join(lines)


def main(register: Path, file: Path) -> int:
    """Print the table; 1 where CI has a skip that nobody expected."""
    skips = registered(register)
    if not skips:
        print("register of skips: no test was skipped")
        return 0
    entries = expected(file)
    reasons = {skip: why(skip, entries) for skip in skips}
    surprises = sum(reason is None for reason in reasons.values())
    print(f"register of skips: {len(skips)} shown as skipped, {surprises} of them unexpected")
    print(table(skips, reasons))
    if not surprises:
        return 0
    print(f"hint: install what is missing (make test does, as root), or say why it may be in {file.name}")
    return 1 if os.environ.get("CI", "") not in ("", "0", "false") else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else EXPECTED))
