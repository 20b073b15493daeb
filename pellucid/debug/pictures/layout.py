"""Where boxes and arrows go: a layered layout, module by module, in time proportional to the size
of the graph.

Each module is laid out for itself and is then one large box among its neighbors, so modules never
overlap. Within one, the method is that of Sugiyama, Tagawa and Toda (1981): a layer per distance
from the result, arrows that skip layers bent through invisible places in them, the order within a
layer by the mean position of the neighbors. An arrow that enters or leaves a module passes through
a port on its edge. Arrows that would skip very many layers (a weight used in a thousand steps) are
not drawn but named at their end; that keeps the number of invisible places linear, and the picture
readable. `page/layout.js` does the same in a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

GAP_X, GAP_Y, PAD, HEADER = 26.0, 40.0, 14.0, 26.0
SWEEPS = 8
CHAR = 7.3  # the width of a character in a box or a title


class Item:
    """A box, a module, a port ("in", "out") or a bend of an arrow; `x` is the middle, `y` the top."""

    __slots__ = (
        "above",
        "below",
        "group",
        "height",
        "index",
        "kind",
        "layer",
        "over",
        "under",
        "width",
        "x",
        "y",
    )

    def __init__(self, kind: str, width: float = 2.0, height: float = 0.0, index: int = -1) -> None:
        self.kind, self.width, self.height, self.index = kind, width, height, index
        self.x = self.y = 0.0
        self.over = self.under = 0.0  # room between the item and the edges of its layer
        self.layer = 0
        self.group: Level | None = None
        self.above: list[Item] = []
        self.below: list[Item] = []


class Link:
    """An arrow, or the part of one that lies in one module."""

    __slots__ = ("a", "b", "bends", "enters", "leaves", "source", "stub")

    def __init__(self, source: int, a: Item, leaves: Item, b: Item, enters: Item) -> None:
        self.source, self.a, self.leaves, self.b, self.enters = source, a, leaves, b, enters
        self.bends: list[Item] = []
        self.stub = False

    def points(self) -> list[tuple[float, float]]:
        """The corners, from the upper end to the lower."""
        a, b = self.a, self.b
        # Straight down within a layer, where taller neighbors stand; sideways between layers.
        found = [(self.leaves.x, a.y + a.height), (self.leaves.x, a.y + a.height + a.under)]
        for bend in self.bends:
            found += [(bend.x, bend.y), (bend.x, bend.y + bend.height)]
        found += [(self.enters.x, b.y - b.over), (self.enters.x, b.y)]
        return [p for k, p in enumerate(found) if k == 0 or p != found[k - 1]]


class Level:
    """The inside of a module, or the whole drawing."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.ins: dict[int, Item] = {}
        self.outs: dict[int, Item] = {}
        self.links: dict[tuple[int, int, int, int], Link] = {}

    def link(self, source: int, a: Item, leaves: Item, b: Item, enters: Item) -> None:
        key = (id(a), id(leaves), id(b), id(enters))
        if key not in self.links:
            self.links[key] = Link(source, a, leaves, b, enters)

    # ---- layers
    def arrange(self) -> tuple[float, float]:
        """Give every item its place within the level; the size of the level."""
        items = [*self.ins.values(), *self.items, *self.outs.values()]
        if not items:
            return 0.0, 0.0
        links = list(self.links.values())
        place = {id(item): k for k, item in enumerate(items)}
        lowest = 1 if self.outs else 0
        for item in items:
            item.layer = 0 if item.kind == "out" else lowest
        outgoing: dict[int, list[Item]] = {}
        for link in links:
            if place[id(link.a)] < place[id(link.b)]:
                outgoing.setdefault(id(link.a), []).append(link.b)
        for item in reversed(items):  # a layer is the longest way to the end
            for target in outgoing.get(id(item), ()):
                item.layer = max(item.layer, target.layer + 1)
        top = max(item.layer for item in items)
        if self.ins:
            top = max(
                top, max(item.layer for item in items if item.kind != "in") + 1 if self.items else 1
            )
            for port in self.ins.values():
                port.layer = top
        for item in items:
            item.layer = top - item.layer
            item.above, item.below = [], []
        longest = max(2, min(40, 40_000 // max(1, len(links))))
        layers: list[list[Item]] = [[] for _ in range(top + 1)]
        for link in links:
            self._bend(link, longest)
        _order(items, layers)
        _across(layers)
        return _down(layers)

    def _bend(self, link: Link, longest: int) -> None:
        a, b, link.bends = link.a, link.b, []
        between = b.layer - a.layer - 1
        link.stub = between > longest
        if link.stub:
            return  # only named at its end
        if between < 0:
            return  # an arrow against the order: drawn straight
        upper = a
        for layer in range(a.layer + 1, b.layer):
            bend = Item("bend")
            bend.layer = layer
            link.bends.append(bend)
            upper.below.append(bend)
            bend.above.append(upper)
            upper = bend
        upper.below.append(b)
        b.above.append(upper)


def _order(items: list[Item], layers: list[list[Item]]) -> None:
    """Fill the layers, neighbors near each other."""
    seen: set[int] = set()
    ends = [item for item in items if not item.below]
    for start in [*ends, *items]:
        stack = [start]
        while stack:
            item = stack.pop()
            if id(item) in seen:
                continue
            seen.add(id(item))
            item.x = float(len(layers[item.layer]))
            layers[item.layer].append(item)
            stack += reversed(item.above)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            if len(layer) < 2:
                continue
            wanted = {}
            for item in layer:
                near = item.above if sweep % 2 == 0 else item.below
                wanted[id(item)] = sum(n.x for n in near) / len(near) if near else item.x
            layer.sort(key=lambda item: wanted[id(item)])
            for k, item in enumerate(layer):
                item.x = float(k)


def _across(layers: list[list[Item]]) -> None:
    for layer in layers:
        at = 0.0
        for item in layer:
            item.x = at + item.width / 2
            at += item.width + GAP_X
    for sweep in range(2 * SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = []
            for item in layer:
                near = item.above + item.below
                wanted.append(sum(n.x for n in near) / len(near) if near else item.x)
            right, left = wanted[:], wanted[:]
            for i in range(1, len(layer)):
                right[i] = max(
                    right[i], right[i - 1] + (layer[i - 1].width + layer[i].width) / 2 + GAP_X
                )
            for i in range(len(layer) - 2, -1, -1):
                left[i] = min(
                    left[i], left[i + 1] - (layer[i + 1].width + layer[i].width) / 2 - GAP_X
                )
            for item, a, b in zip(layer, right, left, strict=True):
                item.x = (a + b) / 2


def _down(layers: list[list[Item]]) -> tuple[float, float]:
    first = min(item.x - item.width / 2 for layer in layers for item in layer)
    y = 0.0
    for layer in layers:
        height = max(item.height for item in layer)
        for item in layer:
            item.x -= first
            if item.kind == "bend":
                item.y, item.height = y, height
            else:
                item.over = item.under = (height - item.height) / 2
                item.y = y + item.over
        y += height + GAP_Y
    return max(item.x + item.width / 2 for layer in layers for item in layer), y - GAP_Y


class Layout:
    """The places of all boxes, of the frames of modules, and of the arrows.

    Args:
        sizes: width and height of each box, in the order of execution.
        edges: (source, target) by number of box.
        groups: name and parent (-1: none) of each module; parents before their parts.
        member: the module of each box, or -1.
    """

    def __init__(
        self,
        sizes: Sequence[tuple[float, float]],
        edges: Sequence[tuple[int, int]],
        groups: Sequence[tuple[str, int]] = (),
        member: Sequence[int] | None = None,
    ) -> None:
        member = member if member is not None else [-1] * len(sizes)
        self.boxes = [Item("box", w, h, k) for k, (w, h) in enumerate(sizes)]
        self.frames = [Item("frame", index=g) for g in range(len(groups))]
        self._parents = [parent for _, parent in groups]
        self._titles = [len(name) * CHAR for name, _ in groups]
        # the last one, also number -1, is the whole
        self._levels = [Level() for _ in groups] + [Level()]
        placed: set[int] = set()
        for k, box in enumerate(self.boxes):
            g = member[k]
            self._levels[g].items.append(box)
            while g >= 0 and g not in placed:
                placed.add(g)
                self._levels[self._parents[g]].items.append(self.frames[g])
                g = self._parents[g]
        for g, (name, _) in enumerate(groups):
            self.frames[g].group = self._levels[g]
            self.frames[g].width = len(name) * 7.0 + 2 * PAD
        for s, t in edges:
            if s != t:
                self._connect(s, t, member)
        self.width, self.height = self._arrange()

    def _chain(self, group: int) -> list[int]:
        found = [group]
        while group >= 0:
            group = self._parents[group]
            found.append(group)
        return found

    def _connect(self, s: int, t: int, member: Sequence[int]) -> None:
        above, below = self._chain(member[s]), self._chain(member[t])
        common = next(g for g in above if g in below)
        a = leaves = self.boxes[s]
        for g in above[: above.index(common)]:
            level = self._levels[g]
            port = level.outs.get(s)
            if port is None:
                port = level.outs[s] = Item("out")
            level.link(s, a, leaves, port, port)
            a, leaves = self.frames[g], port
        inner = below[: below.index(common)][::-1]
        level = self._levels[common]
        for g in inner:
            port = self._levels[g].ins.get(s)
            if port is None:
                port = self._levels[g].ins[s] = Item("in")
            level.link(s, a, leaves, self.frames[g], port)
            level, a, leaves = self._levels[g], port, port
        level.link(s, a, leaves, self.boxes[t], self.boxes[t])

    def _arrange(self) -> tuple[float, float]:
        for g in range(len(self.frames) - 1, -1, -1):
            frame, level = self.frames[g], self._levels[g]
            width, height = level.arrange()
            shift = max(0.0, (frame.width - width - 2 * PAD) / 2)
            frame.width = max(frame.width, width + 2 * PAD)
            ports, title = [port.x + PAD + shift for port in level.ins.values()], self._titles[g]
            # room at the left, so that no arrow goes through the title
            if title_place(0.0, frame.width, ports, title) is None:
                room = title + 18 - min(ports)
                shift, frame.width = shift + room, frame.width + room
            # Ports bring room of their own over and under the boxes.
            over, under = 8.0 if level.ins else HEADER, -12.0 if level.outs else PAD
            frame.height = height + over + under
            _move(level, PAD + shift, over)
        width, height = self._levels[-1].arrange()
        _move(self._levels[-1], PAD, PAD)
        for g, frame in enumerate(self.frames):  # parents come first
            level = self._levels[g]
            _move(level, frame.x - frame.width / 2, frame.y)
            for port in level.ins.values():
                port.y, port.under = frame.y, 20.0  # straight down past the title
            for port in level.outs.values():
                port.y = frame.y + frame.height
        return width + 2 * PAD, height + 2 * PAD

    @property
    def links(self) -> list[Link]:
        """All arrows and parts of arrows."""
        return [link for level in self._levels for link in level.links.values()]


def title_place(start: float, width: float, ports: Sequence[float], title: float) -> float | None:
    """Where the title of a frame stands: at the left, or where else no arrow comes in; None where
    there is no such place.
    """
    left, right = start + 10, start + width - 10 - title
    places = [x for x in (left, *(p + 12 for p in ports), right) if left <= x <= right + 0.5]
    return next((x for x in places if all(p < x - 6 or p > x + title + 6 for p in ports)), None)


def _move(level: Level, dx: float, dy: float) -> None:
    moved: list[Any] = [*level.items, *level.ins.values(), *level.outs.values()]
    moved += [bend for link in level.links.values() for bend in link.bends]
    for item in moved:
        item.x += dx
        item.y += dy
