"""Batch work of one kind, one line per unit: python kinds.py lzma|zlib|sha|json|sort|gather|pages."""

import hashlib
import json
import lzma
import mmap
import sys
import zlib
from collections.abc import Callable

import numpy as np

_TEXT = " ".join(map(str, range(4000))).encode()
_DRAW = np.random.default_rng(1)
_TABLE = _DRAW.random(6_000_000)
_PLACES = _DRAW.integers(len(_TABLE), size=50_000)
_RECORDS = [{"id": at, "name": f"n{at}", "values": [at, at / 7, None]} for at in range(200)]
_UNSORTED = _DRAW.random(20_000)


def _pages() -> None:
    with mmap.mmap(-1, 256 * mmap.PAGESIZE) as memory:
        for at in range(0, len(memory), mmap.PAGESIZE):
            memory[at] = 1


KINDS: dict[str, Callable[[], object]] = {
    "lzma": lambda: lzma.compress(_TEXT, preset=1),
    "zlib": lambda: zlib.compress(_TEXT, 6),
    "sha": lambda: hashlib.sha256(_TEXT * 20).digest(),
    "json": lambda: json.loads(json.dumps(_RECORDS)),
    "sort": lambda: np.sort(_UNSORTED, kind="stable"),
    "gather": lambda: _TABLE[_PLACES].sum(),
    "pages": _pages,
}

if __name__ == "__main__":
    work = KINDS[sys.argv[1]]
    while True:
        work()
        print(sys.argv[1], flush=True)
