"""Blind test of the diagnosis: an injector secretly draws one of six anomalies, and a diagnosis names it.

    python benches/blind_diagnosis.py 60 [--strike] [--rates 500,1000] [--out FOLDER] [OPTION...]

The options are those of `hindmost diagnose`.
Needs root (each anomaly has its own network) and about 90 s per anomaly. With --strike the policy forbids
the experiment that would show the true cause: every named cause is then wrong. An anomaly counts only if the
percentile rose by half; others had no effect on this host at that time. The same command with the same --out
continues an interrupted bench; --seconds limits its time, and the table covers the anomalies made.
"""

import argparse
import collections
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples/diagnosis"
NAMES = {
    "interference": "neighbour batch",
    "cores": "threads on few processors",
    "quota": "quota of sealed",
    "receive": "receive processing of lo",
    "network": "link lo",
    "load": "client load-2",
}
"""Prefix of the leader's name if it is right."""


LONGEST_S = 900
"""Time limit for one injection and its diagnosis, in seconds."""


def inject_and_diagnose(rate: str, strike: bool, out: Path, more: list[str]) -> tuple[str, str, str]:
    """Inject and diagnose once; return class, outcome, and the named causes."""
    out.unlink(missing_ok=True)
    words = [sys.executable, str(EXAMPLES / "inject.py"), "sealed", "--rate", rate, *["--strike"] * strike]
    words += ["--", sys.executable, str(EXAMPLES / "case.py"), "--out", str(out), *more]
    # It has its own process group: this process forwards Ctrl-C once, and waits until all its processes
    # have ended.
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, process_group=0) as injecting:
        try:
            said, _ = injecting.communicate(timeout=LONGEST_S)
        except (KeyboardInterrupt, subprocess.TimeoutExpired):
            os.killpg(injecting.pid, signal.SIGINT)
            raise
    was = said.split()[-1]
    told = json.loads(out.read_text()) if out.exists() else {"hurts": False}
    if not told["hurts"]:
        return was, "did not hurt", ""
    found = told["diagnosis"]
    if found is None or found["ruling"] in ("inconclusive", "void"):
        return was, "inconclusive", ""
    if found["ruling"] != "cause":
        return was, "unknown factor", ""
    right = not strike and found["leader"].startswith(NAMES[was])
    # Causes that no experiment can distinguish from the leader are named with it.
    beside = not strike and any(name.startswith(NAMES[was]) for name in found["also"])
    return was, "right" if right else "right, beside another" if beside else "wrong", found["leader"]


def wilson(count: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """Return Wilson's interval of a proportion."""
    middle = (count + z * z / 2) / (of + z * z)
    half = z / (of + z * z) * math.sqrt(count * (of - count) / of + z * z / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def main() -> None:
    """Run the anomalies, print each when its seal is opened, then the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("--strike", action="store_true")
    parser.add_argument("--rates", default="500,1000,1500")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seconds", type=float, default=math.inf)
    asked, more = parser.parse_known_args()
    folder = asked.out or Path(tempfile.mkdtemp(prefix="sealed-"))
    folder.mkdir(parents=True, exist_ok=True)
    rates = asked.rates.split(",")
    outcomes: collections.Counter[str] = collections.Counter()
    end = time.monotonic() + asked.seconds
    for number in range(asked.count):
        rate = rates[number % len(rates)]
        opened = folder / f"{number}-opened.json"
        if not opened.exists():
            if time.monotonic() > end:
                break
            row = inject_and_diagnose(rate, asked.strike, folder / f"{number}.json", more)
            opened.write_text(json.dumps({"strike": asked.strike, "rate": rate, "row": row}))
        kept = json.loads(opened.read_text())
        if (kept["strike"], kept["rate"]) != (asked.strike, rate):
            parser.error(f"{opened} belongs to another bench (--strike, --rates): choose another --out")
        was, outcome, leader = kept["row"]
        outcomes[outcome] += 1
        print(f"{number + 1:3} {rate:>5}/s {was:13} {outcome:22} {leader}", flush=True)
    decided = outcomes.total() - outcomes["did not hurt"]
    for outcome, count in outcomes.most_common():
        share = ""
        if outcome != "did not hurt" and decided:
            low, high = wilson(count, decided)
            share = f"{count / decided:.0%} [{low:.0%}, {high:.0%}]"
        print(f"{outcome:22} {count:3} {share}")


if __name__ == "__main__":
    main()
