"""Mixed batches whose inputs and labels are mixed with different partners."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import numpy as np

from ...events import VIEWS, Backward, Batch, Foreign, Op, Read, Site, Value, ancestors, lineage
from ...fingerprint import fingerprint
from ...rule import Rule
from ..losses.origin import Repeated, learned_from
from ..source.places import Place, tree, walk
from ..values.tiled import Graphs, tiled_apart
from .noises import LOSSES as NOISE_LOSSES
from .noises import noise_place, other_noise

_FIXED = ("flip", "roll")
_ORDERS = ("getitem", "index_select", *_FIXED)
_LOSSES = (
    "cross_entropy",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "kl_div",
)
_MIXES = frozenset("add sub lerp where setitem".split())
_SCALES = VIEWS | {"mul", "div", "one_hot"}
_FEWEST = 4  # rows of a batch: fewer have hardly any orders
_MOST = 1 << 20
_KEPT = 4096
_DEPTH = 2000


_DRAWS = re.compile(
    r"(^|[^.\w])((np\.)?random\.\w+|torch\.(rand|randint|randperm|randn)|(self\.)?_?rng\.\w+)\("
)
_MOVES = re.compile(r"flip|rot|crop|shift|roll|affine|warp|transl|elastic|transpose", re.I)
_IMAGE = re.compile(r"(^|[^a-z])(image|img|scan|picture|photo|frame|x)([^a-z]|$)", re.I)
_MASK = re.compile(r"mask|(^|[^a-z])(seg|gt|heatmap|depth|annotation)", re.I)


def moved_apart(root: ast.AST) -> Iterator[tuple[ast.Call | ast.If, ast.Call | ast.If]]:
    """(what moves the image, what moves the mask) where both draw in the same function: two calls
    of one random function, or two conditions.
    """
    functions = [n for n in walk(root) if isinstance(n, ast.FunctionDef)]
    random = {
        f.name
        for f in functions
        if len(f.args.args) - ("self" in {a.arg for a in f.args.args[:1]}) == 1
        and _DRAWS.search(ast.unparse(f))
        and _MOVES.search(ast.unparse(f))
    }
    for function in functions:
        pairs: list[
            tuple[ast.Call | ast.If, str, str]
        ] = []  # statement or call, what draws, what is moved
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and len(node.args) == 1:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in random:
                    pairs.append((node, name, ast.unparse(node.args[0])))
            elif isinstance(node, ast.If) and len(node.body) == 1 and not node.orelse:
                inner = node.body[0]
                if (
                    isinstance(inner, ast.Assign)
                    and _DRAWS.search(ast.unparse(node.test))
                    and _MOVES.search(ast.unparse(inner.value))
                ):
                    moved = ast.unparse(inner.targets[0])
                    way = ast.unparse(inner.value).replace(moved, "_")
                    pairs.append((node, f"{ast.unparse(node.test)}: {way}", moved))
        images = [p for p in pairs if _IMAGE.search(p[2]) and not _MASK.search(p[2])]
        masks = [p for p in pairs if _MASK.search(p[2])]
        found = next(((i[0], m[0]) for i in images for m in masks if i[1] == m[1]), None)
        if found is not None:
            yield found


def cut_apart(root: ast.AST) -> Iterator[tuple[ast.Subscript, ast.Subscript]]:
    """(`b[: keep.sum()]`, `a[keep]`), also with `len(...)` of what was kept."""
    chosen: dict[str, ast.Subscript] = {}  # by how many are kept, as it is written
    kept: dict[str, ast.Subscript] = {}
    cuts = []
    for node in walk(root):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            if isinstance(node.value.slice, ast.Name) and isinstance(node.targets[0], ast.Name):
                kept[node.targets[0].id] = node.value
        if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load):
            continue
        if isinstance(node.slice, ast.Name):
            chosen.setdefault(node.slice.id, node)
        elif isinstance(node.slice, ast.Slice) and node.slice.lower is None and node.slice.upper:
            cuts.append(node)
    for cut in cuts:
        end = (
            ast.unparse(cut.slice.upper)
            if isinstance(cut.slice, ast.Slice) and cut.slice.upper
            else ""
        )
        counted = re.fullmatch(
            r"(?:int\()?(?:np\.|torch\.)?(?:sum\((\w+)\)|(\w+)\.sum\(\))(?:\.item\(\))?\)?", end
        )
        own = ast.unparse(cut.value)
        if counted is not None:
            found = chosen.get(counted[1] or counted[2])
        else:
            length = re.fullmatch(r"len\((\w+)\)", end)
            found = kept.get(length[1]) if length is not None else None
            if found is not None and not _is_mask(root, found.slice):
                found = None
        if found is not None and ast.unparse(found.value) != own:
            yield cut, found


def _same_rows_apart(one: Batch, other: Batch) -> bool:
    """Whether two loaders have data sets of one length and gave different rows."""
    a, b = one.loader.dataset, other.loader.dataset
    if not one.indices or not other.indices or len(one.indices) != len(other.indices):
        return False
    try:
        whole = len(a) == len(b)
    except TypeError:
        return False
    return whole and list(one.indices) != list(other.indices)


def _is_mask(root: ast.AST, name: ast.expr) -> bool:
    """Whether a name is given a comparison, or the negation of something."""
    return any(
        isinstance(n, ast.Assign)
        and ast.unparse(n.targets[0]) == ast.unparse(name)
        and (
            isinstance(n.value, (ast.Compare, ast.BoolOp))
            or isinstance(n.value, ast.UnaryOp)
            and isinstance(n.value.op, ast.Invert)
        )
        for n in walk(root)
    )


class _Order:
    """One use of rows in another order: which order, of what, and the places that led to it."""

    __slots__ = ("base", "code", "drawn", "sites")

    def __init__(self, code: bytes, op: Op, sites: list[Site]) -> None:
        self.code = code
        self.base = op.inputs[0].id
        self.drawn = op.name not in _FIXED
        self.sites = sites


class PartnersApart(Rule):
    """Inputs and labels of a mixed batch have different orders."""

    slug = "partners-apart"
    id = "PL912"
    severity = "error"
    summary = (
        "inputs and labels, or two things that should be changed alike, do not belong together"
    )
    ops = (
        *_ORDERS,
        *_LOSSES,
        "huber_loss",
        "log_prob",
        "cat",
        "index_add",
        "scatter_add",
    )

    def __init__(self) -> None:
        self._orders: dict[int, _Order] = {}  # by number of the operation
        # by number of the scores that labels were compared with: tensors that were targets as they
        # are, and those in another order
        self._compared: dict[int, tuple[set[int], list[_Order]]] = {}
        # by number of a loss: the scores, and whether its labels are in another order
        self._losses: dict[int, tuple[Value, bool]] = {}
        self._swapped = 0
        self._noises = Repeated(looks=24, times=3)
        self._graphs = Graphs(self)
        self._batches: dict[int, Batch] = {}  # by id of a tensor that a loader gave
        self._scored: set[Site | None] = set()  # where samples with a log-probability are drawn
        self._acted: set[int] = set()  # ids of sampled actions whose numbers were read

    def on_batch(self, event: Batch) -> None:
        """Whose rows these are."""
        if len(self._batches) > 64:
            self._batches.clear()
        for value in event.values:
            self._batches[value.id] = event

    def _two_loaders(self, op: Op) -> None:
        """Inputs of one loader and labels of another one, which give their rows in different orders."""
        both = learned_from(op)
        if both is None or not self._noises.due(("loaders", op.site)):
            return
        scores, target = both
        labels = self._batches.get(target.id)
        for made in lineage(target, VIEWS, 8) if labels is None else ():
            labels = labels or next(
                (self._batches[v.id] for v in made.inputs if v.id in self._batches), None
            )
        if labels is None:
            return
        inputs = {
            b.loader.number: b
            for o in ancestors([scores], _DEPTH)
            for v in o.inputs
            if (b := self._batches.get(v.id)) is not None
        }
        if len(inputs) != 1 or labels.loader.number in inputs:
            return
        other = next(iter(inputs.values()))
        if not _same_rows_apart(labels, other) or not self._noises.again(("loaders", op.site)):
            return
        ordered = list(labels.indices) == sorted(labels.indices)
        place = (other if ordered else labels).loader.site
        self.report(
            place,
            "the inputs come from one loader and the targets from another, and the two give their rows in different orders: row "
            f"{other.indices[0]} is compared with the target of row {labels.indices[0]}.",
            evidence={"inputs_from": other.loader.site, "targets_from": labels.loader.site},
            fix="put both into one dataset: `TensorDataset(inputs, targets)`, and one loader",
        )

    def on_op(self, op: Op) -> None:
        """Rows get another order, or a loss is computed."""
        if len(self._batches) > 1 and op.grad_enabled and op.name in _LOSSES:
            self._two_loaders(op)
        if op.name in NOISE_LOSSES and op.grad_enabled and self._noises.due(op.site):
            self._predicted(op)
        self._graphs.on_op(op)
        if op.name in ("index_add", "scatter_add", *_LOSSES) and self._noises.due(
            ("rows", op.site)
        ):
            self._rows(op)
        if op.name in ("cat", "index_add", "scatter_add"):
            return
        if op.name == "log_prob":
            self._chosen(op)
        elif op.name in _ORDERS:
            code = _order(op)
            if code is not None:
                while len(self._orders) >= _KEPT:
                    self._orders.pop(next(iter(self._orders)))
                self._orders[op.number] = _Order(code, op, self.session.recorder.callers())
        elif self._orders:
            self._judge(op)

    def _rows(self, op: Op) -> None:
        """Labels that are repeated as a whole, for rows that come sample by sample."""
        found = tiled_apart(op)
        if found is None or not self._noises.again(("rows", op.site)):
            return
        made, placed, times, count = found
        whole = made.name != "repeat_interleave"
        self.report(
            made.site,
            f"{made.name} returns the order {'1, 2, 3, 1, 2, 3' if whole else '1, 1, 2, 2, 3, 3'}, but the rows that belong to it have the order "
            f"{'1, 1, 2, 2, 3, 3' if whole else '1, 2, 3, 1, 2, 3'}: {count} samples with {times} rows each are mixed up.",
            evidence={"samples": count, "rows_each": times, "rows_at": placed.site},
            fix="`repeat_interleave(k)`" if whole else "`repeat(k)`",
        )

    def _predicted(self, op: Op) -> None:
        """The noise that a denoiser is to predict."""
        found = other_noise(op)
        if found is not None and self._noises.again(op.site):
            drawn, inside = found
            self.report(
                noise_place(drawn, inside),
                "the loss uses noise that the model never sees: the noise in the model's input is another draw, made here.",
                evidence={"target_drawn_at": drawn.site, "loss_at": op.site},
                fix="draw the noise once, and use it for both the input and the target",
            )

    def on_read(self, event: Read) -> None:
        """A sampled action is taken out of its tensor."""
        made = event.value.producer
        if made is not None and made.name == "sample":
            self._acted.add(event.value.id)

    def _chosen(self, op: Op) -> None:
        """The log-probability of an action that nobody took, beside one that was taken."""
        value = op.args.get("value")
        made = value.producer if isinstance(value, Value) else None
        if made is None or made.name != "sample" or not made.inputs:
            return
        self._scored.add(made.site)
        if value.id in self._acted:
            return
        if not self._noises.due(("log_prob", op.site)):
            return
        earlier = self.session.recorder.ops_of_step()
        others = [
            o
            for o in earlier
            if o.name == "sample"
            and o is not made
            and o.inputs
            and o.inputs[0].number == made.inputs[0].number
        ]
        used = {v.number for o in earlier if o.direct and o.name != "log_prob" for v in o.inputs}
        if value.number in used or not others:
            return
        taken = [
            o
            for o in others
            if (out := o.output) is not None
            and (out.number in used or out.id in self._acted)
            and o.site not in self._scored  # else this one is for an entropy
        ]
        if taken and self._noises.again(("log_prob", op.site)):
            self.report(
                made.site,
                "this log-probability belongs to an action that is drawn here but never taken. The reward belongs to another draw from the same "
                "distribution.",
                evidence={"taken_at": taken[0].site, "log_prob_at": op.site},
                fix="draw once: `action = dist.sample()`, and use it for the environment and for log_prob",
            )

    def _judge(self, op: Op) -> None:
        both = learned_from(op)
        if both is None:
            return
        scores, target = both
        labels = self._mixed(target)
        if not labels:
            plain, ordered = self._compared.setdefault(scores.number, (set(), []))
            if len(self._compared) > _KEPT:
                self._compared.pop(next(iter(self._compared)))
            ids, orders = self._way(target)
            if op.output is not None and op.output.numel == 1:
                if len(self._losses) > 64:
                    self._losses.clear()
                self._losses[op.output.number] = scores, bool(orders)
            if not orders:
                self._turned_rows(scores, target, op)
            plain |= ids - {o.base for o in orders} if orders else ids
            ordered += orders
            labels = [o for o in ordered if o.base in plain]
        if not labels:
            return
        inputs = self._mixed(scores)
        if not inputs or {o.code for o in inputs} & {o.code for o in labels}:
            return
        self.report(
            _parted(labels[0].sites, inputs[0].sites),
            "the labels of this batch are mixed in another order than the inputs: both need "
            "the same permutation.",
            evidence={
                "inputs_at": _parted(inputs[0].sites, labels[0].sites),
                "loss_at": op.site,
            },
            fix="draw one permutation and use it for both inputs and labels",
        )

    def _turned_rows(self, scores: Value, target: Value, loss: Op) -> None:
        """`x.flip(0)` of a batch whose labels stay in their order."""
        if (
            not target.ndim
            or target.shape[0] < _FEWEST
            or not self._noises.due(("flip", loss.site))
        ):
            return
        found = []
        for op in ancestors([scores], _DEPTH):
            if op.name in _FIXED and op.inputs and op.inputs[0].shape[:1] == target.shape[:1]:
                axes = op.args.get("dims")
                axes = axes if isinstance(axes, (tuple, list)) else (axes,)
                if all(isinstance(a, int) for a in axes) and 0 in {
                    a % op.inputs[0].ndim for a in axes
                }:
                    found.append(op)
        value = found[0].inputs[0] if len(found) == 1 else None
        if value is None or value.ndim not in (2, 4) or value.requires_grad:
            return
        if self._noises.again(("flip", loss.site)):
            self.report(
                found[0].site,
                f"{found[0].name} changes the order of the {value.shape[0]} samples of this batch (axis 0), but the labels stay in the old order.",
                evidence={"shape": list(value.shape), "loss_at": loss.site},
                fix="flip an axis of the image: dims=[-1]",
            )

    def on_backward_begin(self, event: Backward) -> None:
        """`lam * loss(y[perm]) + (1 - lam) * loss(y)` of inputs that are mixed the other way round."""
        if len(self._losses) < 2 or event.how != "backward" or len(event.roots) != 1:
            return
        shares, at = self._shares(event.roots[0])
        self._losses.clear()
        if len(shares) != 2 or len({s.number for s, _, _ in shares}) != 1 or at is None:
            return
        (scores, one, first), (_, other, second) = shares
        if one == other or abs(first + second - 1) > 1e-3:
            return
        mixed = self._mixture(scores)
        if mixed is None:
            return
        ordered = first if one else second
        self._swapped += abs(ordered - mixed) > 1e-3 and abs(ordered - (1 - mixed)) < 1e-3
        if self._swapped == 3:
            self.report(
                at.site,
                f"the inputs are mixed with a share of {mixed:.3g} of their partners, and the loss of the partners' labels has the weight "
                f"{ordered:.3g}: the two weights are swapped.",
                evidence={"share": mixed, "weight": ordered},
                fix="`lam * loss(scores, y) + (1 - lam) * loss(scores, y[perm])` for `lam * x + (1 - lam) * x[perm]`",
            )

    def _shares(self, root: Value) -> tuple[list[tuple[Value, bool, float]], Op | None]:
        """(scores, whether the labels are in another order, weight) of the losses that a loss is a
        sum of, and the sum.
        """
        found: list[tuple[Value, bool, float]] = []
        at: Op | None = None
        waiting = [(root, 1.0)]
        for _ in range(16):
            if not waiting:
                break
            value, factor = waiting.pop()
            made = value.producer
            held = self._losses.get(value.number)
            if held is not None:
                found.append((*held, factor))
            elif made is not None and made.name == "add":
                at = made
                waiting += [(v, factor) for v in made.inputs]
            elif made is not None and made.name in ("mul", "div"):
                number = _number_of(made)
                if number is not None and number[1]:
                    share = factor * number[1] if made.name == "mul" else factor / number[1]
                    waiting.append((number[0], share))
        return found, at

    def _mixture(self, scores: Value) -> float | None:
        """The share of the partners in the inputs of a model."""
        for op in ancestors([scores], _DEPTH):
            if op.name != "add" or len(op.inputs) != 2 or op.inputs[0].requires_grad:
                continue
            shares = [
                (*n, self._way(n[0])[1])
                for v in op.inputs
                if v.producer is not None and (n := _number_of(v.producer)) is not None
            ]
            if len(shares) == 2 and abs(shares[0][1] + shares[1][1] - 1) < 1e-3:
                ordered = [number for _, number, orders in shares if orders]
                if len(ordered) == 1:
                    return float(ordered[0])
        return None

    def finish(self) -> None:
        """A random flip or crop of the image, and another one of its mask."""
        for file in self.session.recorder.files(self.session.script) if self.step else ():
            root = tree(file)
            for cut, chosen in cut_apart(root) if root is not None else ():
                self.report(
                    Place(file, cut.lineno),
                    f"`{ast.unparse(chosen)}` selects rows, but `{ast.unparse(cut)}` takes the same number of rows from the beginning: they no "
                    "longer belong together.",
                    evidence={"chosen": ast.unparse(chosen), "cut": ast.unparse(cut)},
                    fix=f"choose the same rows: `{ast.unparse(cut.value)}[{ast.unparse(chosen.slice)}]`",
                )
            for image, mask in moved_apart(root) if root is not None else ():
                self.report(
                    Place(file, mask.lineno),
                    "the image and its mask are transformed by separate random draws, so often only one of them is transformed.",
                    evidence={"image": ast.unparse(image)[:80], "mask": ast.unparse(mask)[:80]},
                    fix="draw once, and transform both in the same way",
                )

    def _mixed(self, value: Value) -> list[_Order]:
        """The orders in which something was mixed with itself on the way to a value."""
        found = []
        for op in ancestors([value], _DEPTH):
            if op.name not in _MIXES or len(op.inputs) < 2:
                continue
            ways = [self._way(v) for v in op.inputs]
            for k, (_, orders) in enumerate(ways):
                beside = {i for j, (ids, _) in enumerate(ways) if j != k for i in ids}
                found += [o for o in orders if o.base in beside and (o.drawn or op.name != "sub")]
        return found

    def _way(self, value: Value) -> tuple[set[int], list[_Order]]:
        """The tensors that a value is made of by views and scaling alone, up to and without the
        last change of order, and these changes.
        """
        ids: set[int] = set()
        orders: list[_Order] = []
        waiting = [value]
        while waiting and len(ids) < 64:
            v = waiting.pop()
            ids.add(v.id)
            made = v.producer
            if made is None:
                continue
            order = self._orders.get(made.number)
            if order is not None:
                orders.append(order)
            elif made.name in _SCALES:
                waiting += made.inputs[:1] if made.name in VIEWS else made.inputs
        return ids, orders


def _number_of(op: Op) -> tuple[Value, float] | None:
    """(value, number) of the product of a tensor and a number."""
    if op.name not in ("mul", "div"):
        return None
    if len(op.inputs) == 1:
        numbers = [v for k in ("input", "other") if isinstance(v := op.args.get(k), (int, float))]
        return (op.inputs[0], float(numbers[0])) if numbers else None
    for one, other in (op.inputs, op.inputs[::-1]):
        if one.numel == 1 and not one.requires_grad and (op.name == "mul" or one is op.inputs[1]):
            array = one.numpy()
            return None if array is None else (other, float(array.reshape(-1)[0]))
    return None


def _parted(first: list[Site], second: list[Site]) -> Site | None:
    """Where the first of two ways, places from the innermost, leaves the second."""
    for one, other in zip(reversed(first), reversed(second), strict=False):
        if one != other:
            return one
    return first[0] if first else None


def _order(op: Op) -> bytes | None:
    """Which order of all rows an operation makes; None when it makes none, or leaves them."""
    if not op.inputs or not op.inputs[0].ndim or not _FEWEST <= op.inputs[0].shape[0] <= _MOST:
        return None
    rows = op.inputs[0].shape[0]
    if op.name in _FIXED:
        if op.inputs[0].requires_grad:
            return None  # a difference of neighbours, or a direction of time
        axes = op.args.get("dims")
        axes = tuple(axes) if isinstance(axes, (list, tuple)) else (axes,)
        if axes not in ((0,), (-op.inputs[0].ndim,)):
            return None
        order = np.arange(rows)
        if op.name == "flip":
            order = order[::-1]
        else:
            shifts = op.args.get("shifts")
            shift = shifts[0] if isinstance(shifts, (list, tuple)) else shifts
            order = np.roll(order, shift)
    else:
        if op.name == "index_select" and op.args.get("dim") != 0:
            return None
        index = op.args.get("index")
        if isinstance(index, (list, tuple)) and index:
            index = index[0]  # `x[perm, :, a:b]`
        if isinstance(index, Value) and index.shape != (rows,):
            return None
        order = index.numpy() if isinstance(index, Value) else None
        if isinstance(index, Foreign) and isinstance(index.value, np.ndarray):
            order = index.value
        if order is None or order.dtype.kind != "i" or order.shape != (rows,):
            return None
        if not np.array_equal(np.sort(order), np.arange(rows)):
            return None
    if np.array_equal(order, np.arange(rows)):
        return None
    return fingerprint(order)
