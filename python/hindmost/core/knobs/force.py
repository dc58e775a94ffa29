"""Several settings around one start of a server, and those that a load host sets for its controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from hindmost.core.knobs.knob import Knob
from hindmost.core.knobs.registry import kind_of
from hindmost.core.plan.secrets import BUILT_IN
from hindmost.core.targets import ManagedServer, TargetSpec
from hindmost.errors import UsageError

OF_WORDS = ("argument", "env", "command")
"""Kinds whose levels are words of a command line or an environment: setting them can run anything."""


def start_spec(spec: TargetSpec, pairs: Sequence[tuple[Knob, str]]) -> TargetSpec:
    """Return how to start a server with these settings at these levels."""
    for knob, level in pairs:
        spec = knob.spec(spec, level)
    return spec


def processors(before: TargetSpec, now: TargetSpec, asked: Sequence[int]) -> tuple[int, ...]:
    """Return the server's CPUs: those of a setting, if one sets them, else those `asked` for."""
    return tuple(now.cpus) if now.cpus is not None and now.cpus != before.cpus else tuple(asked)


@contextmanager
def in_force(
    pairs: Sequence[tuple[Knob, str]],
) -> Iterator[Callable[[ManagedServer], AbstractContextManager[None]]]:
    """Apply the settings before a server starts; provide a context for the running server.

    Raises
    ------
    HostUnfit
        If a level is not available on this host.
    HindmostError
        If a setting cannot be restored.
    """

    @contextmanager
    def on_server(server: ManagedServer) -> Iterator[None]:
        with ExitStack() as stack:
            for knob, level in pairs:
                stack.enter_context(knob.on_server(level, server))
            yield

    with ExitStack() as stack:
        for knob, level in pairs:
            stack.enter_context(knob.before(level))
        yield on_server


class KeptSettings:
    """Settings that stay in force, while servers start and stop, until others are wanted."""

    def __init__(self) -> None:
        self._levels: list[tuple[str, str]] = []
        self._stack = ExitStack()

    def apply(self, pairs: Sequence[tuple[Knob, str]]) -> None:
        """Apply settings as `in_force` does, unless they are in force; first restore the previous ones.

        Raises
        ------
        HostUnfit
            If a level is not available on this host.
        HindmostError
            If a setting cannot be restored.
        """
        levels = [(knob.name, level) for knob, level in pairs]
        if levels == self._levels:
            return
        self.restore()
        self._stack.enter_context(in_force(pairs))
        self._levels = levels

    def restore(self) -> None:
        """Restore all settings."""
        self._levels = []
        self._stack.close()


def refuse_words(what: Mapping[str, Any], where: str = "factor") -> None:
    """Refuse a setting that no host accepts over the network, because it contains words of a command line.

    Raises
    ------
    UsageError
        Names it, and the alternative.

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
