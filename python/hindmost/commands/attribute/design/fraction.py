"""Regular fractions of two-level factors, of resolution III, IV, V or more."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from hindmost.commands.attribute.design.design import Design
from hindmost.commands.attribute.design.factors import LARGEST, Cell, Factor, Term, check_factors
from hindmost.commands.attribute.design.full import full
from hindmost.commands.attribute.design.generators import Mask, best_generators, shared_masks, span
from hindmost.errors import UsageError

LISTED_ORDER = 4
"""Longest aliases that are listed: the aliases of main effects in a fraction of resolution V."""

MOST_FACTORS = {3: 15, 4: 16, 5: 11}
"""Most factors by resolution: in 16, 32 and 128 cells."""


def fraction(factors: Iterable[Factor], resolution: int = 5) -> Design:
    """Return the smallest fraction of at least this resolution, with minimum aberration for its size.

    It always has the all-low cell: a generated factor is high if an odd number of its generators is. In the
    -1/+1 notation of the literature, words of odd length therefore have a minus sign.

    Returns
    -------
    Design
        Its model has main effects and two-factor interactions, one of each alias set. It is a full factorial
        if no smaller fraction has the resolution.

    Raises
    ------
    UsageError
        If a factor has more than two levels, or there are too many factors.

    Examples
    --------
    >>> design = fraction([Factor(name, ("low", "high")) for name in "abcd"], resolution=4)
    >>> design.text, design.words
    ('2^(4-1) fraction of resolution IV: 8 cells', (('a', 'b', 'c', 'd'),))
    >>> design.aliases[("a", "b")]
    (('c', 'd'),)
    """
    factors = check_factors(factors)
    if resolution not in MOST_FACTORS:
        raise UsageError(
            "bad-value",
            f"resolution {resolution} is not 3, 4 or 5",
            key="resolution",
            value=resolution,
            known=sorted(MOST_FACTORS),
        )
    if many := [factor for factor in factors if not factor.two_level]:
        raise UsageError(
            "bad-value",
            f"a fraction needs factors of two levels; {many[0].name!r} has {len(many[0].levels)}. Regular"
            " fractions of mixed levels confound parts of effects, which is hard to interpret",
            hint="kind = auto chooses cells for mixed levels; or give the factor two levels",
            name=many[0].name,
            have=len(many[0].levels),
            need=2,
        )
    count = len(factors)
    if count > MOST_FACTORS[resolution]:
        raise UsageError(
            "design-too-large",
            f"a fraction of resolution {resolution} takes at most {MOST_FACTORS[resolution]} factors, not"
            f" {count}: more would need hundreds of cells",
            hint="screen the factors first (kind = screening), then study those that matter",
            factors=count,
            limit=MOST_FACTORS[resolution],
        )
    for base in range(1, count):
        words = best_generators(count, base, resolution) if 2**base > count else None
        if words is not None:
            return regular(factors, words)
    return full(factors)


def regular(factors: Sequence[Factor], generators: Sequence[Mask]) -> Design:
    """Return the fraction of these generators, each a word with exactly one generated factor.

    Parameters
    ----------
    factors
        Free ones first, then the generated ones in the order of their generators.
    generators
        Bit i of a mask stands for factor i.
    """
    factors = check_factors(factors)
    names = [factor.name for factor in factors]
    base = len(factors) - len(generators)
    if 2**base > LARGEST:
        raise UsageError(
            "design-too-large",
            f"a fraction of {2**base:,} cells has more than {LARGEST:,}",
            cells=2**base,
            limit=LARGEST,
        )
    for j, generator in enumerate(generators):
        if generator >> base != 1 << j:
            raise UsageError(
                "bad-value",
                f"generator {j + 1} must contain {names[base + j]!r} as its only generated factor",
                key=f"generators[{j}]",
                value=generator,
                name=names[base + j],
            )
    words = span(generators)
    terms, aliases = _model(names, words)
    return Design(
        factors,
        "fraction",
        min(word.bit_count() for word in words),
        tuple(_complete(free, generators) for free in itertools.product((0, 1), repeat=base)),
        terms,
        aliases,
        tuple(sorted((_term(names, word) for word in words), key=lambda term: _order(names, term))),
    )


def _complete(free: tuple[int, ...], generators: Sequence[Mask]) -> Cell:
    high = sum(level << i for i, level in enumerate(free))
    return (*free, *((high & generator).bit_count() % 2 for generator in generators))


def _model(
    names: Sequence[str], words: Sequence[Mask]
) -> tuple[tuple[Term, ...], dict[Term, tuple[Term, ...]]]:
    """Return terms of up to two factors, the first of each alias set, with the rest of the set as aliases."""
    terms, aliases, covered = [], {}, set[Mask]()
    places = range(len(names))
    for chosen in itertools.chain.from_iterable(itertools.combinations(places, order) for order in range(3)):
        mask = sum(1 << i for i in chosen)
        if mask in covered:
            continue
        others = set(shared_masks(mask, words))
        covered |= others
        term = _term(names, mask)
        terms.append(term)
        listed = (
            [_term(names, other) for other in others if other.bit_count() <= LISTED_ORDER] if mask else []
        )
        aliases[term] = tuple(sorted(listed, key=lambda other: _order(names, other)))
    return tuple(terms), aliases


def _term(names: Sequence[str], mask: Mask) -> Term:
    return tuple(name for i, name in enumerate(names) if mask >> i & 1)


def _order(names: Sequence[str], term: Term) -> tuple[int, list[int]]:
    return len(term), [names.index(name) for name in term]
