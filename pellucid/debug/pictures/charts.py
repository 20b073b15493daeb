"""Line charts as SVG, without a plotting library: axes, legend, logarithmic scale, light and dark
mode. `page/charts.js` adds tooltips.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from . import pages

MOST = 600  # points of a line that are drawn; of more, the least and the greatest of each stretch
LEFT, RIGHT, TOP, BOTTOM, ROW = 64.0, 16.0, 34.0, 50.0, 17.0
# Colors that are told apart by people with any kind of color vision (M. Okabe and K. Ito, 2008),
# and as they are on black.
LIGHT = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#3b8fc2", "#6b6b6b")
DARK = ("#58a6ff", "#ff9d5c", "#3fd0a4", "#e8a0c8", "#f0e442", "#8fd0f5", "#b0b0b0")


class Series(NamedTuple):
    """One line of a chart: its name and its points. NaN and Inf are marked at the upper edge.

    >>> from pellucid import debug
    >>> debug.Series("loss", [0, 1], [2.3, 1.9]).name
    'loss'
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` round numbers from `low` to `high`."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next((m * unit for m in (1, 2, 2.5, 5) if m * unit >= rough), 10 * unit)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten from `low` to `high`, with 2 and 5 times them where there are few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, (last - first) // 6)
    factors = (1,) if last - first > 2 else (1, 2, 5)
    found = [m * 10.0**k for k in range(first, last + 1, every) for m in factors]
    return [v for v in found if low * 0.999 <= v <= high * 1.001] or [low, high]


def number(value: float) -> str:
    """A number as it stands at an axis."""
    if value == 0:
        return "0"
    text = (
        f"{value:.4g}"
        if 1e-3 <= abs(value) < 1e5
        else f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    )
    return text.replace("-", "−")


def thinned(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    """At most about `MOST` points, the least and the greatest of each stretch among them."""
    if len(x) <= MOST:
        return list(x), list(y)
    size = math.ceil(2 * len(x) / MOST)
    kept: list[int] = []
    for start in range(0, len(x), size):
        part = range(start, min(start + size, len(x)))
        bad = [i for i in part if not math.isfinite(y[i])]
        good = [i for i in part if math.isfinite(y[i])]
        ends = {min(good, key=lambda i: y[i]), max(good, key=lambda i: y[i])} if good else set()
        kept += sorted({*ends, *bad[:1]})
    return [x[i] for i in kept], [y[i] for i in kept]


def _colours(k: int, count: int) -> tuple[str, str]:
    """A line's color on white and on black: few lines by name, many by their place from blue to
    red.
    """
    if count <= len(LIGHT):
        return LIGHT[k], DARK[k]
    hue = 230 - 230 * k / (count - 1)
    return f"hsl({hue:.0f} 75% 38%)", f"hsl({hue:.0f} 80% 66%)"


STYLE = """
.pc .line { fill:none; stroke:var(--l); stroke-width:1.6; stroke-linejoin:round; }
.pc .dot { fill:var(--l); } .pc .key { stroke:var(--l); stroke-width:3; }
@media (prefers-color-scheme: dark) { .pc .line, .pc .key { stroke:var(--d); } .pc .dot { fill:var(--d); } }
.pc text { font:11.5px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill:var(--soft); }
.pc text.title { font-weight:600; font-size:13.5px; fill:var(--ink); } .pc .grid { stroke:var(--faint); } .pc .axis { stroke:var(--soft); fill:none; }
.pc .bad { fill:var(--bad); } .pc .off { opacity:.15; } .pc .legend { cursor:pointer; } .pc .legend.off { opacity:.4; }
""".strip()


class Chart:
    """A line chart. Notebooks show it as a picture, and printing shows it as text.

    Attributes: `svg`, the complete picture; `data`, what `page/charts.js` needs for tooltips.

    Args:
        title: the title.
        series: the lines.
        x_label, y_label: the names of the axes.
        log: logarithmic y axis. Values that are not positive are left out and counted in a note.
        categories: names for x = 0, 1, ... such as layers, instead of numbers.
        smooth: whether the page's slider smooths the lines.

    >>> chart = Chart("loss", [Series("train", [0, 1, 2], [3.0, 2.0, 1.5])])
    >>> chart.svg.count("<polyline")
    1
    >>> print(chart)
    loss
      train  █▃▁  3 to 1.5
    """

    def __init__(
        self,
        title: str,
        series: Sequence[Series],
        *,
        x_label: str = "step",
        y_label: str = "",
        log: bool = False,
        categories: Sequence[str] | None = None,
        smooth: bool = True,
        width: int = 520,
        height: int = 300,
    ) -> None:
        self.title, self.x_label, self.y_label, self.log, self.categories = (
            title,
            x_label,
            y_label,
            log,
            categories,
        )
        self.smooth = smooth and not categories
        self.series = [Series(s.name, *thinned(s.x, s.y)) for s in series]
        self.width = float(width)
        self._keys = self._legend()
        deepest = max(map(len, categories)) if categories else 0
        self._bottom = BOTTOM + min(110.0, 4.6 * deepest) if categories else BOTTOM
        self._plot_height = height - TOP - BOTTOM
        self.height = (
            TOP + self._plot_height + self._bottom + self._keys[-1][1] + ROW
            if self._keys
            else height
        )
        self._scales()

    def _usable(self, y: float) -> bool:
        return math.isfinite(y) and (y > 0 or not self.log)

    def _scales(self) -> None:
        xs = [x for s in self.series for x in s.x]
        ys = [y for s in self.series for y in s.y if self._usable(y)]
        self._x0, self._x1 = (min(xs), max(xs)) if xs else (0.0, 1.0)
        if self._x0 == self._x1:
            self._x0, self._x1 = self._x0 - 0.5, self._x1 + 0.5
        low, high = (min(ys), max(ys)) if ys else (1.0, 10.0) if self.log else (0.0, 1.0)
        if self.log:
            if high / low < 1.05:
                low, high = low / 2, high * 2
            room = (high / low) ** 0.05
            self._y0, self._y1 = low / room, high * room
        else:
            if high - low < 1e-12 * max(1.0, abs(high)):
                low, high = low - 0.5 * (abs(low) or 1), high + 0.5 * (abs(high) or 1)
            room = 0.05 * (high - low)
            self._y0, self._y1 = (0.0 if 0 <= low < 0.3 * high else low - room), high + room

    def _px(self, x: float) -> float:
        return LEFT + (x - self._x0) / (self._x1 - self._x0) * (self.width - LEFT - RIGHT)

    def _py(self, y: float) -> float:
        share = (
            math.log(y / self._y0) / math.log(self._y1 / self._y0)
            if self.log
            else (y - self._y0) / (self._y1 - self._y0)
        )
        return TOP + (1 - share) * self._plot_height

    def _legend(self) -> list[tuple[float, float]]:
        """Places of the names under the chart, in rows."""
        found, x, y = [], 0.0, 0.0
        for s in self.series:
            wide = 34 + 6.6 * min(len(s.name), 40)
            if x and x + wide > self.width - LEFT - RIGHT:
                x, y = 0.0, y + ROW
            found.append((x, y))
            x += wide
        return found

    @property
    def data(self) -> dict[str, Any]:
        """Points and scales, for tooltips."""

        def finite(v: float) -> float | str:
            return v if math.isfinite(v) else str(v)

        return {
            "box": [LEFT, TOP, self.width - RIGHT, TOP + self._plot_height],
            "x": [self._x0, self._x1],
            "y": [self._y0, self._y1],
            "log": self.log,
            "xLabel": self.x_label,
            "title": self.title,
            "smooth": self.smooth,
            "categories": list(self.categories) if self.categories else None,
            "series": [
                [s.name, [finite(v) for v in s.x], [finite(v) for v in s.y]] for s in self.series
            ],
        }

    @property
    def svg(self) -> str:
        """The picture."""
        right, floor = self.width - RIGHT, TOP + self._plot_height
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="pc" width="{self.width:.0f}" height="{self.height:.0f}" '
            f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" role="img" aria-label="{escape(self.title)}">'
            f"<style>{pages.palette('.pc')}\n{STYLE}</style>"
            f'<text class="title" x="{LEFT:.0f}" y="16">{escape(self.title)}</text>'
        )
        out = [head]
        for v in log_ticks(self._y0, self._y1) if self.log else ticks(self._y0, self._y1):
            y = self._py(v)
            out.append(f'<path class="grid" d="M{LEFT:.0f} {y:.1f}H{right:.0f}"/>')
            out.append(
                f'<text x="{LEFT - 6:.0f}" y="{y + 4:.1f}" text-anchor="end">{number(v)}</text>'
            )
        out += self._x_axis(right, floor)
        if self.y_label:
            out.append(
                f'<text transform="translate(13 {TOP + self._plot_height / 2:.0f}) rotate(-90)" text-anchor="middle">{escape(self.y_label)}</text>'
            )
        for k, s in enumerate(self.series):
            out.append(self._line(k, s))
        out += self._names(floor)
        return "".join([*out, "</svg>"])

    def _x_axis(self, right: float, floor: float) -> list[str]:
        out = [f'<path class="axis" d="M{LEFT:.0f} {TOP:.0f}V{floor:.1f}H{right:.0f}"/>']
        if self.categories:
            every = max(1, math.ceil(len(self.categories) * 13 / (right - LEFT)))
            for k in range(0, len(self.categories), every):
                name = self.categories[k]
                text = name if len(name) <= 24 else "…" + name[-23:]
                place = f'transform="translate({self._px(k) + 4:.1f} {floor + 10:.1f}) rotate(-55)"'
                out.append(f'<text {place} text-anchor="end">{escape(text)}</text>')
            return out
        whole = all(float(x).is_integer() for s in self.series for x in s.x)
        for v in ticks(self._x0, self._x1, 8):
            if whole and v != round(v):
                continue
            out.append(
                f'<text x="{self._px(v):.1f}" y="{floor + 16:.1f}" text-anchor="middle">{number(v)}</text>'
            )
        out.append(
            f'<text x="{right:.0f}" y="{floor + 32:.1f}" text-anchor="end">{escape(self.x_label)}</text>'
        )
        return out

    def _line(self, k: int, s: Series) -> str:
        """A line, with a gap where a value cannot be shown and a mark where it is NaN or Inf."""
        light, dark = _colours(k, len(self.series))
        parts: list[list[str]] = [[]]
        marks = []
        for x, y in zip(s.x, s.y, strict=True):
            if self._usable(y):
                parts[-1].append(f"{self._px(x):.1f},{self._py(y):.1f}")
            else:
                parts.append([])
                if not math.isfinite(y):
                    here = self._px(x)
                    name = f"{s.name}: {y} at {self.x_label} {x:g}"
                    marks.append(
                        f'<path class="bad" d="M{here - 4:.1f} {TOP:.0f}h8l-4 7z"><title>{escape(name)}</title></path>'
                    )
        drawn = "".join(
            f'<polyline class="line" points="{" ".join(p)}"/>' if len(p) > 1 else _dot(p[0])
            for p in parts
            if p
        )
        if len(s.x) <= 24:
            drawn += "".join(_dot(p) for part in parts if len(part) > 1 for p in part)
        return f'<g data-series="{k}" style="--l:{light};--d:{dark}"><title>{escape(s.name)}</title>{drawn}{"".join(marks[:50])}</g>'

    def _names(self, floor: float) -> list[str]:
        out = []
        if len(self.series) > 1:
            for k, (s, (x, y)) in enumerate(zip(self.series, self._keys, strict=True)):
                light, dark = _colours(k, len(self.series))
                text = s.name if len(s.name) <= 40 else "…" + s.name[-39:]
                px, py = LEFT + x, floor + self._bottom + y
                out.append(
                    f'<g class="legend" data-series="{k}" style="--l:{light};--d:{dark}"><path class="key" d="M{px:.1f} {py - 4:.1f}h16"/>'
                    f'<rect x="{px:.1f}" y="{py - 13:.1f}" width="{26 + 6.6 * len(text):.1f}" height="17" fill="none" pointer-events="all"/>'
                    f'<text x="{px + 21:.1f}" y="{py:.1f}">{escape(text)}</text></g>'
                )
        hidden = sum(
            1 for s in self.series for y in s.y if math.isfinite(y) and not self._usable(y)
        )
        if hidden:
            out.append(
                f'<text x="{LEFT:.0f}" y="{floor + 32:.1f}">{hidden} values of 0 or less are not shown</text>'
            )
        return out

    def __repr__(self) -> str:
        lines = [f"{s.name}  {_bars(s.y, self.log)}  {_ends(s.y)}".strip() for s in self.series]
        return "\n".join([self.title, *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        return self.svg


def _bars(y: Sequence[float], log: bool, most: int = 24) -> str:
    """A line as a row of characters, for places that show no pictures."""
    picked = [y[round(k * (len(y) - 1) / (most - 1))] for k in range(most)] if len(y) > most else y
    known = [v for v in picked if math.isfinite(v) and (v > 0 or not log)]
    if not known:
        return ""
    low, high = (math.log(v) if log else v for v in (min(known), max(known)))
    scale = 7 / (high - low) if high > low else 0.0
    return "".join(
        "▁▂▃▄▅▆▇█"[round(((math.log(v) if log else v) - low) * scale)]
        if math.isfinite(v) and (v > 0 or not log)
        else "x"
        for v in picked
    )


def _ends(y: Sequence[float]) -> str:
    """The first and the last value of a line."""
    return f"{y[0]:.4g} to {y[-1]:.4g}" if len(y) else "no values"


def _dot(point: str) -> str:
    x, y = point.split(",")
    return f'<circle class="dot" cx="{x}" cy="{y}" r="2.4"/>'


def figure(chart: Chart, index: int) -> str:
    """A chart in a page; `index` is its place in the list of `data` that the page's script reads."""
    return f'<figure class="chart" data-chart="{index}">{chart.svg}</figure>'
