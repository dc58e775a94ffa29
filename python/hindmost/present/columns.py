"""Columns of text for the terminal."""


def align_columns(rows: list[tuple[str, ...]], sides: str) -> list[str]:
    """Align cells in columns, each to the left (``<``) or right (``>``)."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True))
        for row in rows
    ]
