"""Network interfaces whose shaper is widened."""

from __future__ import annotations

import contextlib
import json
import subprocess
from dataclasses import dataclass

from hindmost.core.interventions.changes import SuspectGone
from hindmost.core.knobs import steps
from hindmost.core.knobs.steps import Step


@dataclass(frozen=True)
class Link:
    """An interface of our network namespace whose shaper (a root token bucket) is widened."""

    device: str
    rate: int
    """Original rate, bytes/s."""
    burst: int
    limit: int
    wide: int
    """Rate while the link is widened, bytes/s."""

    @property
    def name(self) -> str:  # noqa: D102
        return f"link {self.device}"

    @property
    def description(self) -> str:  # noqa: D102
        now, wide = (rate * 8 / 1e6 for rate in (self.rate, self.wide))
        return f"widen the shaper of {self.device} from {now:g} to {wide:g} Mbit/s"

    @property
    def undo(self) -> list[Step]:  # noqa: D102
        return [steps.shape(self.device, 8 * self.rate, self._burst(self.rate), self.limit)]

    def _burst(self, rate: int) -> int:
        # The bucket must hold one timer tick's worth of data, or the link never reaches its rate.
        return max(self.burst, rate // 250)

    def _set(self, rate: int) -> None:
        words = ["tc", "qdisc", "change", "dev", self.device, "root", "tbf", "rate", f"{8 * rate}bit"]
        words += ["burst", str(self._burst(rate)), "limit", str(self.limit)]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            raise SuspectGone(
                "intervention-failed",
                f"tc can no longer change the shaper of {self.device}",
                name=self.device,
            )

    def remove(self) -> None:  # noqa: D102
        self._set(self.wide)

    def give_back(self) -> None:  # noqa: D102
        with contextlib.suppress(SuspectGone):
            self._set(self.rate)

    def is_gone(self) -> bool:  # noqa: D102
        return any(link.device == self.device and link.rate == self.wide for link in links())


WIDER = 20
"""Factor on the rate of a widened link, large enough that the link is not a bottleneck."""


def links() -> list[Link]:
    """Return the interfaces with a token bucket at their root, or an empty list where ``tc`` fails."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        output = subprocess.run(["tc", "-j", "qdisc", "show"], capture_output=True, check=False).stdout
        found = []
        for qdisc in json.loads(output):
            if qdisc.get("kind") == "tbf" and qdisc.get("root"):
                options = qdisc["options"]
                rate, burst = int(options["rate"]), int(options["burst"])
                # tc reports the limit as a time in µs ("lat") beyond the burst.
                limit = int(options.get("limit", rate * options.get("lat", 0) / 1e6 + burst))
                found.append(Link(qdisc["dev"], rate, burst, limit, WIDER * rate))
        return found
    return []
