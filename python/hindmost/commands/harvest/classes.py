"""Classification of traces: the engine's result as a document."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from hindmost import _engine
from hindmost.commands.harvest.document import Class, Classes, ClassifiedTenant, Pattern, Share
from hindmost.commands.harvest.reading import Traces
from hindmost.core.progress import step
from hindmost.core.store.reading import read_document
from hindmost.errors import Inconclusive, UsageError

SCHEMA: Final = "hindmost.classes/1"
PATTERNS: tuple[Pattern, ...] = ("periodic", "constant", "unpredictable")


@dataclass(frozen=True)
class Settings:
    """The criteria of patterns.

    Parameters
    ----------
    constant_below
        Utilisation with a smaller standard deviation is constant.
    periodic_share
        Share of the variance that a period of any length and its harmonics must explain.
    least_cycles
        Fewest cycles of a period.
    confidence
        Confidence of a period: 1 minus the probability that noise is as periodic.
    most_missing
        Tenants with a larger share of missing slots are excluded.
    classes
        Most classes of periodic, constant and unpredictable tenants.
    stability
        Whether both halves of the window must show the pattern; otherwise the tenant is unpredictable.
    seed
        Seed of the initial clusters.
    """

    constant_below: float = 0.03
    periodic_share: float = 0.3
    least_cycles: int = 4
    confidence: float = 0.95
    most_missing: float = 0.25
    classes: tuple[int, int, int] = (13, 5, 5)
    stability: bool = True
    seed: int = 1


def engine(kind: str, document: object) -> Any:  # noqa: ANN401 (JSON)
    """Call a harvesting function of the engine."""
    try:
        with step(f"harvest {kind}"):
            return json.loads(_engine.harvest(kind, json.dumps(document)))
    except _engine.EngineError as error:
        raise UsageError(error.args[0], error.args[1], hint="correct the settings") from None


def classify(traces: Traces, settings: Settings | None = None) -> Classes:
    """Classify tenants by the utilisation of their average servers.

    Raises
    ------
    UsageError
        Traces are too short for the required cycles, or a setting is out of range.
    Inconclusive
        Too many slots of every trace are missing.

    Examples
    --------
    >>> import numpy as np
    >>> from hindmost.commands.harvest.reading import Tenant
    >>> days = np.arange(30 * 24) / 24
    >>> cpu = np.stack([0.4 + 0.2 * np.sin(2 * np.pi * days), np.full(720, 0.3)])
    >>> found = classify(Traces([Tenant("web", "a", ["s1"]), Tenant("crawler", "b", ["s2"])], cpu, 3600.0))
    >>> [(one.name, one.pattern, one.period_s) for one in found.tenants]
    [('web', 'periodic', 86400.0), ('crawler', 'constant', None)]
    """
    import numpy as np

    settings = settings or Settings()
    cpu = np.ascontiguousarray(traces.cpu, dtype=np.float32)
    servers = [float(max(1, len(tenant.servers))) for tenant in traces.tenants]
    asked = json.dumps({**dataclasses.asdict(settings), "slot_s": traces.slot_s})
    try:
        with step(f"classifying {len(servers):,} tenants"):
            found = json.loads(
                _engine.harvest_classify(cpu.reshape(-1), cpu.shape[1], servers, traces.peaks, asked)
            )
    except _engine.EngineError as error:
        raise UsageError(
            error.args[0],
            error.args[1],
            hint="a month of two-minute slots is usual",
            slots=cpu.shape[1],
            settings=dataclasses.asdict(settings),
        ) from None
    tenants = [
        msgspec.convert(
            {
                **one,
                "name": tenant.name,
                "environment": tenant.environment,
                "servers": tenant.servers,
                "racks": tenant.racks,
                "reimages": tenant.reimages,
                "space": tenant.space or len(tenant.servers),
                "period_s": one["period"] * traces.slot_s if one.get("pattern") == "periodic" else None,
            },
            ClassifiedTenant,
        )
        for tenant, one in zip(traces.tenants, found["tenants"], strict=True)
    ]
    left_out = [one.name for one in tenants if one.class_ is None]
    if len(left_out) == len(tenants):
        raise Inconclusive(
            "no-whole-trace",
            f"more than {settings.most_missing:.0%} of every trace is missing, so there is no class",
            hint="check the clocks of the servers, or use a longer --slot",
            tenants=len(tenants),
            most=settings.most_missing,
        )
    return Classes(
        schema=SCHEMA,
        slot_s=traces.slot_s,
        slots=cpu.shape[1],
        settings=dataclasses.asdict(settings),
        classes=msgspec.convert(found["classes"], list[Class]),
        shares={pattern: _share(tenants, pattern) for pattern in PATTERNS},
        left_out=left_out,
        unowned_servers=traces.unowned,
        columns=traces.columns,
        other_clocks=traces.other_clocks,
        tenants=tenants,
    )


def _share(tenants: Sequence[ClassifiedTenant], pattern: Pattern) -> Share:
    """Return the shares of tenants and servers, and of tenants with the pattern in both halves."""
    known = [one for one in tenants if one.class_ is not None]
    own = [one for one in known if one.pattern == pattern]
    servers = sum(len(one.servers) for one in known)
    checked = [one.stable for one in own if one.stable is not None]
    return Share(
        tenants=len(own) / len(known),
        servers=sum(len(one.servers) for one in own) / servers if servers else 0.0,
        stable=sum(checked) / len(checked) if checked else None,
    )


def read_error(error: Exception) -> str:
    """Return the error code of a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return "no-such-file"
    return "unreadable-file" if isinstance(error, OSError) else "bad-file"


def load_classes(path: Path | str) -> Classes:
    """Read a document of ``hindmost harvest classify``.

    Raises
    ------
    UsageError
        The file does not exist, is not JSON, or is of another type.
    """
    path = Path(path)
    try:
        found = read_document(path)
        if found.get("schema") == SCHEMA:
            return msgspec.convert(found, Classes)
    except (OSError, ValueError) as error:
        raise UsageError(
            read_error(error),
            f"{path} cannot be read: {error}",
            hint="hindmost harvest classify TRACES --out classes.json",
            path=str(path),
        ) from None
    raise UsageError(
        "bad-file",
        f"{path} is not a document {SCHEMA}",
        hint="hindmost harvest classify TRACES --out classes.json",
        path=str(path),
        value=found.get("schema"),
        need=SCHEMA,
    )
