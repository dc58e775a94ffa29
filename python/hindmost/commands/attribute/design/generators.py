"""Generators of two-level fractions: the search for minimum aberration.

A fraction of k factors in 2^m cells lets m factors vary freely and sets each of the other p = k - m to a
product of some of them. Here a set of factors is a bit mask and a product of sets is XOR, so the 2^p - 1
defining words are the span of p masks (Box & Hunter 1961). The best fraction of a given size has the fewest
words of the shortest length, then of the next, and so on: minimum aberration (Fries & Hunter 1980).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

Mask = int


def best_generators(factors: int, base: int, resolution: int) -> tuple[Mask, ...] | None:
    """Return p = `factors` - `base` generators with minimum aberration; None if none has the resolution.

    Bit i stands for factor i; generator j is the word with factor `base` + j and no other generated factor.

    Examples
    --------
    >>> [f"{word:05b}" for word in best_generators(5, 4, 5)]
    ['11111']
    >>> best_generators(6, 4, 5) is None
    True
    """
    return _search(factors, base, resolution)


@cache
def _search(factors: int, base: int, resolution: int) -> tuple[Mask, ...] | None:
    added = factors - base
    if added == 0:
        return ()
    # Products of free factors that define a generated one: a word is one factor longer.
    candidates = sorted(
        (mask for mask in range(1 << base) if mask.bit_count() >= resolution - 1),
        key=lambda mask: (-mask.bit_count(), mask),
    )
    best: tuple[Mask, ...] | None = None
    best_pattern: tuple[int, ...] | None = None

    def extend(chosen: list[Mask], words: list[Mask], start: int) -> None:
        nonlocal best, best_pattern
        pattern = word_lengths(words, factors)
        if best_pattern is not None and pattern >= best_pattern:
            return  # more generators only add words
        if len(chosen) == added:
            best, best_pattern = tuple(chosen), pattern
            return
        for i in range(start, len(candidates) - (added - len(chosen)) + 1):
            # Renaming free factors changes nothing: try only one of the longest generators of a length.
            if not chosen and i and candidates[i].bit_count() == candidates[i - 1].bit_count():
                continue
            generator = candidates[i] | 1 << base + len(chosen)
            new = [generator, *(generator ^ word for word in words)]
            if all(word.bit_count() >= resolution for word in new):
                extend([*chosen, generator], words + new, i + 1)

    extend([], [], 0)
    return best


def span(generators: Sequence[Mask]) -> list[Mask]:
    """Return all products of generators except the empty one: the defining words."""
    words: list[Mask] = []
    for generator in generators:
        words += [generator, *(generator ^ word for word in words)]
    return words


def word_lengths(words: Sequence[Mask], factors: int) -> tuple[int, ...]:
    """Return the word length pattern: numbers of words of length 3, 4, ..., `factors`.

    Examples
    --------
    >>> word_lengths(span([0b0010111, 0b0101011, 0b1001101]), 7)  # the 2^(7-3) of resolution IV
    (0, 7, 0, 0, 0)
    """
    counts = [0] * (factors + 1)
    for word in words:
        counts[word.bit_count()] += 1
    return tuple(counts[3:])


def shared_masks(mask: Mask, words: Sequence[Mask]) -> Iterator[Mask]:
    """Return the other members of the mask's alias set."""
    return (mask ^ word for word in words)
