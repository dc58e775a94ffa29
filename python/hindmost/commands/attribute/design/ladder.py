"""The designs that exist for given factors, from rich to poor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Literal, get_args

from hindmost.commands.attribute.design.design import Design
from hindmost.commands.attribute.design.factors import Combination, Factor, check_factors
from hindmost.commands.attribute.design.fraction import fraction
from hindmost.commands.attribute.design.full import full
from hindmost.commands.attribute.design.random_settings import random_settings
from hindmost.commands.attribute.design.screening import FIRST_ROWS, screening
from hindmost.commands.attribute.design.subset import subset
from hindmost.errors import UsageError

DesignKind = Literal["auto", "full", "fraction", "screening"]


def ladder(
    factors: Iterable[Factor], kind: DesignKind, resolution: int = 5, forbidden: Iterable[Combination] = ()
) -> Iterator[Design]:
    """Yield all designs of a kind, from rich to poor, each with fewer cells than the one before.

    ``auto``: full, fractions of resolution V and IV (or chosen cells), screening with and without fold-over;
    designs that do not exist for these factors are left out.

    Raises
    ------
    UsageError
        If none exists.
    """
    if kind not in get_args(DesignKind):
        raise UsageError(
            "unknown-name",
            f"there is no kind of design {kind!r} (known: {', '.join(get_args(DesignKind))})",
            key="kind",
            name=kind,
            known=list(get_args(DesignKind)),
        )
    forbidden = tuple(forbidden)
    factors = check_factors(factors, forbidden)
    refusal: UsageError | None = None
    smallest: int | None = None
    for make in _makers(factors, kind, resolution, forbidden):
        try:
            design = make()
        except UsageError as error:
            refusal = refusal or error
            continue
        if smallest is None or len(design.cells) < smallest:
            smallest = len(design.cells)
            yield design
    if smallest is None and refusal is not None:
        raise refusal


def _makers(
    factors: tuple[Factor, ...], kind: DesignKind, resolution: int, forbidden: tuple[Combination, ...]
) -> list[Callable[[], Design]]:
    whole: list[Callable[[], Design]] = [partial(full, factors, forbidden)]
    fractions: list[Callable[[], Design]]
    screens: list[Callable[[], Design]]
    if forbidden or not all(factor.two_level for factor in factors):
        fractions = [partial(subset, factors, forbidden)]
        screens = [partial(subset, factors, forbidden, order=1)]
        if not forbidden:
            screens.append(partial(random_settings, factors))
    else:
        least = (resolution,) if kind == "fraction" else (5, 4)
        fractions = [partial(fraction, factors, value) for value in least]
        screens = [partial(screening, factors, fold=fold) for fold in (True, False)]
        if len(factors) >= max(FIRST_ROWS):
            screens = [partial(random_settings, factors)]
    kinds = {"full": whole, "fraction": fractions, "screening": screens}
    return kinds.get(kind, [*whole, *fractions, *screens])
