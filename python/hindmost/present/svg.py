"""Small charts as inline SVG: scales, axes, lines, areas. Colours are CSS classes, for dark mode."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape, quoteattr

from hindmost.core.escapes import plain

Point = tuple[float, float]


def linear(value: float) -> float:
    """Return the value unchanged."""
    return value


def log10(value: float) -> float:
    """Return the logarithm to base 10, with values below 1e-9 replaced."""
    return math.log10(max(value, 1e-9))


def tail(q: float) -> float:
    """Return a quantile level's position on the tail scale, on which each further nine is one step."""
    return -math.log10(max(1.0 - q, 1e-9))


@dataclass(frozen=True)
class Scale:
    """Map values ``low .. high`` to the pixels ``start .. end``."""

    low: float
    high: float
    start: float
    end: float
    transform: Callable[[float], float] = linear

    def __call__(self, value: float) -> float:
        """Return the pixel of ``value``. Values outside the range are drawn at the edge."""
        low, high = self.transform(self.low), self.transform(self.high)
        share = 0.5 if high <= low else (self.transform(value) - low) / (high - low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)


def linear_ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Return round ticks (1, 2, 5 times a power of ten) within ``low .. high``."""
    if not 0.0 < high - low < math.inf:
        return [low]
    raw = (high - low) / max(1, wanted)
    power = 10 ** math.floor(math.log10(raw))
    step = next((m * power for m in (1, 2, 5) if m * power >= raw), 10 * power)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 12) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return ticks at 1, 2, 5 times powers of ten, or only at the powers if the range is long."""
    low = max(low, 1e-6)
    wide = high / low > 2000
    out = [
        m * 10.0**power
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(max(high, low))) + 1)
        for m in ((1,) if wide else (1, 2, 5))
    ]
    inside = [round(t, 9) for t in out if low * 0.999 <= t <= high * 1.001]
    return inside if len(inside) > 1 else linear_ticks(low, high)


def log_domain(values: Sequence[float], floor: float = 0.01) -> tuple[float, float]:
    """Return the range of a log axis: all finite values with a margin, at least a factor of two."""
    positive = [max(v, floor) for v in values if math.isfinite(v)] or [1.0, 10.0]
    low, high = min(positive) / 1.15, max(positive) * 1.15
    if high / low < 2:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(2), middle * math.sqrt(2)
    return (max(low, floor), high)


def linear_domain(values: Sequence[float], *, zero: bool = False) -> tuple[float, float]:
    """Return the range of a linear axis: all finite values with a margin."""
    finite = [v for v in values if math.isfinite(v)]
    if not finite:
        return (0.0, 1.0)
    low, high = min(finite), max(finite)
    air = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
    return (0.0 if zero else max(0.0, low - air) if low >= 0 else low - air, high + air)


@dataclass
class Plot:
    """One chart: an area with margins, to which elements are added in drawing order."""

    width: float
    height: float
    title: str
    left: float = 58
    right: float = 24
    top: float = 14
    bottom: float = 42
    parts: list[str] = field(default_factory=list)

    def x(self, low: float, high: float, transform: Callable[[float], float] = linear) -> Scale:
        """Return a horizontal scale over the drawing area."""
        return Scale(low, high, self.left, self.width - self.right, transform)

    def y(self, low: float, high: float, transform: Callable[[float], float] = linear) -> Scale:
        """Return a vertical scale over the drawing area, upwards."""
        return Scale(low, high, self.height - self.bottom, self.top, transform)

    def add(self, tag: str, body: str | None = None, **attributes: object) -> None:
        """Add an element. ``body`` is text and gets escaped; ``class_`` means class, ``_`` means ``-``."""
        words = "".join(
            f" {name.rstrip('_').replace('_', '-')}={quoteattr(_short(value))}"
            for name, value in attributes.items()
        )
        end = "/>" if body is None else f">{escape(plain(body))}</{tag}>"
        self.parts.append(f"<{tag}{words}{end}")

    def text(self, x: float, y: float, body: str, *, anchor: str = "start", cls: str = "") -> None:
        """Draw a text at a pixel position."""
        self.add("text", body, x=x, y=y, text_anchor=anchor, class_=cls or "label")

    def line(self, points: Iterable[Point], cls: str) -> None:
        """Draw a line through pixels. A single point becomes a dot."""
        list_ = list(points)
        if len(list_) == 1:
            self.dot(*list_[0], cls=f"{cls} dot")
        elif list_:
            self.add("path", d=_path(list_), class_=f"line {cls}")

    def area(self, upper: Sequence[Point], lower: Sequence[Point], cls: str) -> None:
        """Fill the area between two lines."""
        if len(upper) > 1:
            self.add("path", d=_path([*upper, *reversed(lower)]) + "Z", class_=f"area {cls}")

    def dot(self, x: float, y: float, *, cls: str, title: str = "", radius: float = 3.5) -> None:
        """Draw a dot, with a tooltip."""
        hover = f"<title>{escape(plain(title))}</title>" if title else ""
        at = f'cx="{_short(x)}" cy="{_short(y)}" r="{_short(radius)}"'
        self.parts.append(f"<circle {at} class={quoteattr(cls)}>{hover}</circle>")

    def bar(self, box: tuple[float, float, float, float], *, cls: str, title: str = "") -> None:
        """Fill a box (x, y, width, height), with a tooltip."""
        hover = f"<title>{escape(plain(title))}</title>" if title else ""
        at = " ".join(
            f'{name}="{_short(float(v))}"' for name, v in zip(("x", "y", "width", "height"), box, strict=True)
        )
        self.parts.append(f"<rect {at} class={quoteattr(cls)}>{hover}</rect>")

    def axes(
        self,
        x: Scale,
        y: Scale,
        *,
        x_ticks: Sequence[tuple[float, str]],
        y_ticks: Sequence[tuple[float, str]],
        x_title: str = "",
        y_title: str = "",
    ) -> None:
        """Draw grid, ticks with their texts (without overlapping ones), and titles."""
        last = math.inf
        for value, text in y_ticks:
            at = y(value)
            self.add("path", d=f"M{_short(x.start)} {_short(at)}H{_short(x.end)}", class_="grid")
            if last - at >= 15:
                self.text(x.start - 8, at + 4, text, anchor="end", cls="tick")
                last = at
        edge = -math.inf
        for value, text in x_ticks:
            at = x(value)
            half = 3.6 * len(text)
            self.add("path", d=f"M{_short(at)} {_short(y.start)}v5", class_="axis")
            if at - half > edge:
                self.text(at, y.start + 18, text, anchor="middle", cls="tick")
                edge = at + half + 4
        self.add("path", d=f"M{_short(x.start)} {_short(y.start)}H{_short(x.end)}", class_="axis")
        if x_title:
            self.text((x.start + x.end) / 2, self.height - 5, x_title, anchor="middle", cls="name")
        if y_title:
            self.text(4, 12, y_title, cls="name")

    def __str__(self) -> str:
        """Return the ``<svg>`` element."""
        head = f'<svg viewBox="0 0 {_short(self.width)} {_short(self.height)}" role="img"'
        return f"{head} aria-label={quoteattr(plain(self.title))}>{''.join(self.parts)}</svg>"


def _short(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def _path(points: Sequence[Point]) -> str:
    first, *rest = points
    tail_ = "".join(f"L{_short(float(x))} {_short(float(y))}" for x, y in rest)
    return f"M{_short(float(first[0]))} {_short(float(first[1]))}{tail_}"
