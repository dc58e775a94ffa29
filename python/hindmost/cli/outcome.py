"""How a study's answer leaves: data on standard output, talk on standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from hindmost.exits import Exit

if TYPE_CHECKING:
    from hindmost.studies.kind import Shown


def tell(shown: Shown, *, as_json: bool, quiet: bool = False, verbose: bool = False) -> Exit:
    """Print an answer; returns what it says to scripts."""
    table = shown.account if verbose and shown.account else shown.table
    print(json.dumps(shown.document, allow_nan=False) if as_json else table())
    if not quiet:
        print("\n".join(shown.notes), file=sys.stderr)
    return shown.exit
