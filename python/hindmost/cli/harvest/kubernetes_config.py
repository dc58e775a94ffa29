"""``hindmost harvest kubernetes-config``: labels of nodes, and the scheduler's configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hindmost.cli.options import OUTPUT, TARGET, option
from hindmost.exits import Exit


def kubernetes_config(
    classes: Annotated[Path, option(TARGET, None, "What hindmost harvest classify wrote.")],
    *,
    url: Annotated[
        str, option(TARGET, "URL", "Where the scheduler finds hindmost harvest extender.")
    ] = "http://127.0.0.1:9880",
    out: Annotated[Path, option(OUTPUT, "FOLDER", "Where they are written.")] = Path("kubernetes-config"),
) -> int:
    """Write a script that labels nodes with their classes, and the configuration of kube-scheduler.

    Nodes are called as servers are in the traces. The extender may be ignored: where it is not there, the
    scheduler goes on without it.
    """
    from hindmost.harvest import load_classes
    from hindmost.harvest.kubernetes import LABELS, SCHEDULER, labels_text, scheduler_text
    from hindmost.store.files import install

    texts = {LABELS: labels_text(load_classes(classes)), SCHEDULER: scheduler_text(url)}
    print("\n".join(map(str, install(out, texts))))
    return Exit.DONE
