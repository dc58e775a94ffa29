"""``hindmost knobs``: what can be set on this host. One file a sub-verb, each loaded when it is called."""

from __future__ import annotations

PURPOSE = "What can be set on this host: list, get, set, and put back as it was found."

SUBVERBS: dict[str, tuple[str, str, str]] = {
    "list": (
        "[OPTIONS]",
        "List what can be set on this host, and what it is set to.",
        """\
Examples:
  hindmost knobs list
  hindmost knobs list --all

""",
    ),
    "get": (
        "NAME [OPTIONS]",
        "Show one knob.",
        """\
Examples:
  hindmost knobs get thp

""",
    ),
    "set": (
        "NAME VALUE [OPTIONS]",
        "Set a knob, after what was found is in the journal.",
        """\
Examples:
  hindmost knobs set thp never
  hindmost knobs set rps@eth0 3

""",
    ),
    "restore": (
        "[OPTIONS]",
        "Put back everything that was changed.",
        """\
Examples:
  hindmost knobs restore

""",
    ),
}
"""Sub-verb to usage, purpose and examples, in the order of the help page."""
