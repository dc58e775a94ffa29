"""``hindmost completion``: print a shell's completion script."""

from __future__ import annotations

from typing import Annotated, Literal

from hindmost.cli.options import TARGET, option
from hindmost.core.exits import Exit


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], option(TARGET, None, "Shell to complete for.")],
) -> int:
    """Print the script that completes commands and options in a shell."""
    from hindmost.cli.parser import parser

    print(parser().generate_completion(shell=shell), end="")
    return Exit.DONE
