"""``hindmost completion``: what a shell needs to complete verbs, options and choices."""

from __future__ import annotations

from typing import Annotated, Literal

from hindmost.cli.options import TARGET, option
from hindmost.exits import Exit


def completion(shell: Annotated[Literal["bash", "zsh", "fish"], option(TARGET, None, "Which shell.")]) -> int:
    """Print what completes verbs and options in a shell."""
    from hindmost.cli.parser import parser

    print(parser().generate_completion(shell=shell), end="")
    return Exit.DONE
