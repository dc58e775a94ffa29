"""Small documents of ``hindmost harvest classify``."""

from collections.abc import Mapping

from hindmost.commands.harvest.document import Class, Classes, ClassifiedTenant


def tenant_of(name: str, racks: Mapping[str, str | None], class_: int | None) -> ClassifiedTenant:
    """A tenant whose servers are the keys of `racks`."""
    return ClassifiedTenant(
        name=name,
        environment=name,
        servers=list(racks),
        racks={server: rack for server, rack in racks.items() if rack},
        reimages=0.0,
        space=1.0,
        class_=class_,
        peak=0.5,
    )


def class_of(pattern: str, mean: float, peak: float) -> Class:
    """A class of one tenant."""
    return Class(pattern=pattern, mean=mean, peak=peak, tenants=1, servers=2.0)


def classes_of(classes: list[Class], tenants: list[ClassifiedTenant]) -> Classes:
    """A document of classes and tenants."""
    return Classes(
        schema="hindmost.classes/1",
        slot_s=120.0,
        slots=720,
        settings={},
        classes=classes,
        shares={},
        left_out=[],
        columns=[],
        other_clocks=[],
        tenants=tenants,
    )
