"""Values by host, found by any name of the host; ``HostNames`` in ``hadoop/`` follows the same rules.

Letter case and a final dot are ignored. A short name matches the only full name that begins with it, and a
full name matches its short name; two full names are two hosts. Addresses match exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Generic, TypeVar

from hindmost.errors import UsageError

Value = TypeVar("Value")
_ADDRESS = re.compile(r"[0-9.]+|.*:.*")


def canonical(host: str) -> str:
    """Return the name in lower case, without a final dot."""
    return host.lower().removesuffix(".")


def is_address(name: str) -> bool:
    """Return whether a name is an IP address."""
    return _ADDRESS.fullmatch(name) is not None


def label_of(name: str) -> str:
    """Return the short name of a canonical name; for an address, the address."""
    return name if is_address(name) else name.partition(".")[0]


class HostTable(Generic[Value]):
    """A value for each host, found by any of its names.

    Attributes
    ----------
    by_name : dict
        Values by canonical name.
    by_label : dict
        Canonical full names by short name; None if several full names share it.

    Raises
    ------
    UsageError
        A host occurs twice (letter case is ignored).
    """

    def __init__(self, rows: Iterable[tuple[str, Value]]) -> None:
        self.by_name: dict[str, Value] = {}
        self.by_label: dict[str, str | None] = {}
        for host, value in rows:
            name = canonical(host)
            if name in self.by_name:
                raise UsageError(
                    "duplicate-name",
                    f"the host {host} occurs twice",
                    hint="give each server one line; letter case does not make another host",
                    key="server",
                    value=host,
                )
            self.by_name[name] = value
            if (label := label_of(name)) != name:
                self.by_label[label] = None if label in self.by_label else name

    def __contains__(self, host: str) -> bool:
        """Return whether a host is known."""
        return self.get(host) is not None

    def get(self, host: str) -> Value | None:
        """Return the value of a host; None if it is unknown, or if several hosts have this short name."""
        name = canonical(host)
        if name in self.by_name:
            return self.by_name[name]
        label = label_of(name)
        other = self.by_label.get(name) if label == name else label
        return None if other is None else self.by_name.get(other)
