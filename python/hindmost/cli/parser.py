"""The command-line parser, built from the table of commands."""

from __future__ import annotations

import cyclopts

from hindmost.cli.help import PlainHelp
from hindmost.cli.verbs import VERBS, Verb, locate_function
from hindmost.core.exits import EPILOGUE


def parser() -> cyclopts.App:
    """Return the parser with all commands. None of their modules is loaded yet."""
    app = cyclopts.App(
        name="hindmost",
        help="Measures the tail latency of servers, explains where it comes from, and shows by experiment"
        " what reduces it.\n\nStart with `hindmost host doctor`, then `hindmost measure memcached --rate 20k`"
        " or `hindmost measure http://HOST:PORT/ --rate 100`.",
        version=_version,
        help_format="plaintext",
        help_formatter=PlainHelp(),
        help_epilogue=EPILOGUE,
        suppress_keyboard_interrupt=False,
    )
    _add(app, VERBS, ())
    return app


def _version() -> str:
    from hindmost import __version__

    return __version__


def _add(app: cyclopts.App, verbs: tuple[Verb, ...], above: tuple[str, ...]) -> None:
    for place, verb in enumerate(verbs):
        words = (*above, verb.name)
        usage = " ".join(("hindmost", *words, verb.usage))
        if verb.verbs:
            below = cyclopts.App(
                name=verb.name,
                help=verb.purpose,
                usage=usage,
                help_format="plaintext",
                help_formatter=PlainHelp(),
                help_epilogue=EPILOGUE,
                version_flags=[],
                sort_key=place,
            )
            _add(below, verb.verbs, words)
            app.command(below)
        else:
            app.command(
                locate_function(words),
                name=verb.name,
                help=verb.purpose,
                usage=usage,
                help_epilogue=_examples(verb) + EPILOGUE,
                sort_key=place,
                show=not verb.hidden,
            )


def _examples(verb: Verb) -> str:
    lines = "".join(f"  hindmost {example}\n" for example in verb.examples)
    return f"Examples:\n{lines}\n" if lines else ""
