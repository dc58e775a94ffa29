"""Several knobs around one start of a server, and which of them a host sets for a controller elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from hindmost.errors import UsageError
from hindmost.knobs.knob import Knob
from hindmost.knobs.registry import kind_of
from hindmost.plan.secrets import BUILT_IN
from hindmost.targets import ManagedServer, TargetSpec

OF_WORDS = ("argument", "env", "command")
"""Kinds whose levels are words of a command line or an environment: whoever sets them can run anything."""


def started_with(spec: TargetSpec, pairs: Sequence[tuple[Knob, str]]) -> TargetSpec:
    """How a server is started with these knobs at these levels."""
    for knob, level in pairs:
        spec = knob.spec(spec, level)
    return spec


def processors(before: TargetSpec, now: TargetSpec, asked: Sequence[int]) -> tuple[int, ...]:
    """Processors of the server: those that a knob sets, where one does, else those `asked` for."""
    return tuple(now.cpus) if now.cpus is not None and now.cpus != before.cpus else tuple(asked)


@contextmanager
def in_force(
    pairs: Sequence[tuple[Knob, str]],
) -> Iterator[Callable[[ManagedServer], AbstractContextManager[None]]]:
    """Set what is set before a server starts; gives what is to be entered on the running server.

    Raises
    ------
    HostUnfit
        A level cannot be had on this host.
    HindmostError
        What was set cannot be put back.
    """

    @contextmanager
    def beside(server: ManagedServer) -> Iterator[None]:
        with ExitStack() as stack:
            for knob, level in pairs:
                stack.enter_context(knob.beside(level, server))
            yield

    with ExitStack() as stack:
        for knob, level in pairs:
            stack.enter_context(knob.before(level))
        yield beside


def refuse_words(what: Mapping[str, Any], where: str = "factor") -> None:
    """Refuse a knob that no host sets for somebody elsewhere, since it holds words of a command line.

    Raises
    ------
    UsageError
        Names it, and what can be had.

    Examples
    --------
    >>> refuse_words({"knob": "thp"})
    >>> refuse_words({"command": "reboot"})
    Traceback (most recent call last):
    hindmost.errors.UsageError: factor sets command on another machine: no command line crosses the network
    """
    kind = kind_of(what, where)
    if kind in OF_WORDS or (kind == "interference" and str(what["interference"]).strip() not in BUILT_IN):
        raise UsageError(
            "remote-command",
            f"{where} sets {kind} on another machine: no command line crosses the network",
            hint="use option = NAME of a preset, or of a target file that is on that machine as"
            " /etc/hindmost/targets/NAME.toml; or run the study there",
            key=where,
            name=kind,
        )
