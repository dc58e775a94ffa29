"""What the slowest requests executed, from stack samples, and where they waited."""

from __future__ import annotations

from hindmost.core.notes import Note
from hindmost.core.tracing.document import FunctionShare, Profile

LEAST_SAMPLES = 30
"""Samples of the slowest requests from which functions are named: standard errors are then below 10 %."""
LEAST_SHARE = 0.05
"""Share of the slowest requests' CPU time from which a function is named."""


def profile_notes(profile: Profile | None, fault: str | None) -> list[Note]:
    """Report that there is no profile, or that it has too few samples."""
    if fault is not None:
        return [
            Note(
                "no-profile",
                f"The kernel refuses to sample stacks ({fault}): the functions of slow requests are unknown.",
                {"fault": fault},
            )
        ]
    if profile is None or profile.slowest.samples >= LEAST_SAMPLES:
        return []
    samples = profile.slowest.samples
    return [
        Note(
            "few-profile-samples",
            f"Only {samples} stack samples belong to the slowest requests, too few to compare their functions"
            f" ({LEAST_SAMPLES} are needed).",
            {"samples": samples, "least": LEAST_SAMPLES},
        )
    ]


def describe_function(one: FunctionShare) -> str:
    """Return the name of a function with its module, and with the system call in which it waited.

    >>> from msgspec.structs import replace
    >>> share = FunctionShare(
    ...     function="main", module="nginx", of_all=0, of_slowest=0, all_us=0, slowest_us=0, of_variance=0
    ... )
    >>> describe_function(share)
    'main (nginx)'
    >>> describe_function(replace(share, function="nginx+0x40", call="futex"))
    'nginx+0x40: futex'
    """
    name = one.function if one.function.startswith(f"{one.module}+") else f"{one.function} ({one.module})"
    return f"{name}: {one.call}" if one.call else name


def top_functions(profile: Profile | None, most: int) -> list[FunctionShare]:
    """Return the functions on which slow requests spend more CPU time; none with too few samples."""
    if profile is None or profile.slowest.samples < LEAST_SAMPLES:
        return []
    slower = [one for one in profile.functions if one.slowest_us > one.all_us]
    return [one for one in slower if one.of_slowest >= LEAST_SHARE][:most]
