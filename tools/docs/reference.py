"""The API reference as Markdown, from what is registered: functions and methods, the operation
table, classes, and docstrings.

`pages()` gives the text of every page by its path. Links to source files are written as
`source:pellucid/ops/pointwise/arith.py#L12`, links inside the reference as `html:PAGE.html#PLACE`;
whoever builds the site makes real ones of them.
"""

from __future__ import annotations

import ast
import fnmatch
import functools
import importlib
import inspect
import re
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

import formulas  # noqa: E402  (beside this file)
import mistakes  # noqa: E402
from docstrings import docstring, prose, signature_lines, signature_text  # noqa: E402

import pellucid  # noqa: E402  (of this checkout)
from pellucid import dtypes  # noqa: E402
from pellucid.api.overriding import own  # noqa: E402
from pellucid.core.primitive import PRIMITIVES, Primitive  # noqa: E402
from pellucid.core.public import FUNCTIONS, METHODS, PROPERTIES  # noqa: E402
from pellucid.core.tensor import Tensor, make_tensor  # noqa: E402
from pellucid.onnx.module import supported_operators  # noqa: E402

OPERATORS = frozenset(supported_operators())

# Pages of functions: title, and the files whose functions they hold (patterns of paths in the
# package; the first that fits).
CHAPTERS = {
    "random": ("Random numbers", "ops/create/random ops/create/gamma"),
    "create": ("Creating tensors", "api/create/* ops/create/*"),
    "arithmetic": (
        "Arithmetic and rounding",
        (
            "ops/pointwise/arith ops/pointwise/division ops/pointwise/combined ops/pointwise/power "
            "ops/pointwise/rounding ops/pointwise/minmax ops/pointwise/bitwise "
            "ops/pointwise/complex"
        ),
    ),
    "elementary": (
        "Exponentials, logarithms, trigonometry",
        "ops/pointwise/explog ops/pointwise/trig",
    ),
    "special": ("Special functions", "special ops/pointwise/special/*"),
    "compare": ("Comparisons and selection", "ops/pointwise/compare"),
    "sort": ("Sorting and searching", "ops/reduce/sort ops/reduce/search"),
    "activation": ("Activations and softmax", "ops/pointwise/activation/* ops/reduce/softmax"),
    "matmul": ("Matrix products", "ops/linalg/matmul ops/linalg/einsum ops/reduce/distance"),
    "reduce": ("Reductions: sums, means, maxima", "ops/reduce/* ops/pointwise/basic"),
    "linalg": ("Linear algebra", "linalg ops/linalg/*"),
    "join": (
        "Joining and repeating",
        "ops/shape/join ops/shape/repeat ops/shape/flip ops/shape/diagonal",
    ),
    "shape": ("Shapes and views", "ops/shape/*"),
    "indexing": ("Indexing, gathering, scattering", "ops/index/*"),
    "fft": ("Fourier transforms", "fft ops/signal/*"),
    "conv": (
        "Convolution, pooling, resampling",
        "ops/nn/conv ops/nn/pool/* ops/nn/windows ops/nn/resample",
    ),
    "norm": (
        "Linear maps, normalization, dropout, attention",
        "ops/nn/linear ops/nn/norm/* ops/nn/dropout ops/nn/attention nn/_attention ops/nn/embedding ops/nn/rnn",
    ),
    "loss": ("Losses", "ops/nn/loss/*"),
    "positional": ("Networks' operations in the `torch` namespace", "ops/nn/positional"),
    "tensor": (
        "Tensors: conversion, memory, gradients",
        "api/convert api/gradients api/display api/array_api api/sharing core/display/formatting",
    ),
    "settings": (
        "Settings and types",
        "api/settings ops/typing_info api/layouts api/symbols api/overriding api/transforms",
    ),
    "other": ("Other functions", "*"),
}

# Pages of modules: what `__all__` names, or what is public and defined in the package.
MODULES = {
    "nn": "Layers, losses and containers",
    "nn.init": "Initialization",
    "nn.utils": "Helpers for modules",
    "optim": "Optimizers",
    "optim.lr_scheduler": "Learning-rate schedules",
    "optim.swa_utils": "Weight averaging",
    "utils.data": "Data sets and loaders",
    "datasets": "Data sets from local files",
    "autograd": "Automatic differentiation",
    "autograd.functional": "Jacobians and Hessians",
    "func": "Function transforms",
    "fx": "Symbolic tracing",
    "distributions": "Probability distributions",
    "masked": "Masked reductions",
    "amp": "Mixed precision",
    "serialization": "Saving and loading",
    "utils.checkpoint": "Checkpointing",
    "utils.tensorboard": "TensorBoard files",
    "export": "Export",
    "onnx": "ONNX",
    "interop": "Use as torch",
    "profiler": "Profiler",
    "testing": "Testing",
    "compiler": "Compiler",
    "check": "Bug rules",
    "debug": "Debugging and visualization",
    "scalar": "The scalar engine",
}

SPACES = ("torch", "nn.functional", "linalg", "fft", "special", "signal.windows")


@dataclass
class Entry:
    """A function or method with all its names."""

    function: Callable[..., Any]
    names: list[str]
    inplace: list[str] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        return slug(self.names[0])

    @functools.cached_property
    def records(self) -> list[Primitive]:
        return records_of(self.function)

    @functools.cached_property
    def home(self) -> tuple[Path, int]:
        """File and line, of the record where the function was made from one."""
        code = getattr(inspect.unwrap(self.function), "__code__", None)
        path = Path(code.co_filename) if code is not None else Path(pellucid.__file__)
        generic = path.name.startswith("_") or path.parent.name == "core"
        if generic and self.records:
            return place_of(self.records[0])
        return path, code.co_firstlineno if code is not None else 1


def slug(name: str) -> str:
    """A name as the place of a page: as docutils would have it, and `fill_` apart from `fill`."""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"_$", "-inplace", name.lower())).strip("-")


# ---- what is registered ----------------------------------------------------------------------
@functools.cache
def entries() -> list[Entry]:
    """Every public function and method of Tensor, once, with its aliases."""
    found: dict[int, Entry] = {}
    by_name: dict[str, Entry] = {}
    for space in SPACES:
        for name, function in FUNCTIONS[space].items():
            if (
                not callable(function)
                or isinstance(function, type)
                or name.startswith("_")
                or _inplace_of(name)
            ):
                continue
            entry = found.setdefault(id(inspect.unwrap(function)), Entry(function, []))
            entry.names.append(f"{space}.{name}")
            by_name.setdefault(name, entry)
    for name, function in METHODS.items():
        if name.startswith("__") or (name.startswith("_") and name != "_"):
            continue
        base = _inplace_of(name)
        if base:
            owner = by_name.get(base)
            if owner is not None:
                owner.inplace.append(f"Tensor.{name}")
                continue
        entry = found.get(id(inspect.unwrap(function))) or by_name.get(name)
        if entry is None:
            entry = found[id(inspect.unwrap(function))] = by_name[name] = Entry(function, [])
        entry.names.append(f"Tensor.{name}")
    return list(found.values())


def _inplace_of(name: str) -> str | None:
    """The name that `name` is the in-place form of."""
    return (
        name[:-1]
        if name.endswith("_") and not name.startswith("_") and (name[:-1] in METHODS)
        else None
    )


def records_of(function: Callable[..., Any], depth: int = 2) -> list[Primitive]:
    """The operations that a function calls by name, itself or through at most `depth` helpers,
    nearest first.
    """
    level, seen, found = [inspect.unwrap(function)], set(), []
    for _ in range(depth + 1):
        following = []
        for f in map(own, level):  # the code that asks other classes calls nothing
            code = getattr(f, "__code__", None)
            if code is None or id(f) in seen or "pellucid" not in str(f.__module__):
                continue
            seen.add(id(f))
            cells = [c.cell_contents for c in f.__closure__ or () if _filled(c)]
            for value in [*cells, *(f.__globals__.get(n) for n in code.co_names)]:
                if isinstance(value, Primitive):
                    if value not in found and value.name in PRIMITIVES:
                        found.append(value)
                elif inspect.isfunction(value):
                    following.append(value)
        level = following
        if found:
            break
    return found


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


@functools.cache
def _recorded() -> dict[str, tuple[Path, int]]:
    """File and line of every call in ops and core whose first argument is a text, by the first word
    of that text.
    """
    places: dict[str, tuple[Path, int]] = {}
    for path in [
        *sorted((ROOT / "pellucid" / "ops").rglob("*.py")),
        *sorted((ROOT / "pellucid" / "core").rglob("*.py")),
    ]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                text, called = node.args[0].value, getattr(node.func, "id", "")
                if (
                    isinstance(text, str)
                    and text
                    and called not in ("", "getattr", "hasattr", "public", "TypeVar")
                ):
                    word = text.split()[0] if text.split() else ""
                    if word not in places or called == "defop":
                        places[word] = (path, node.lineno)
    return places


def place_of(op: Primitive) -> tuple[Path, int]:
    """File and line of an operation's record."""
    if op.name in _recorded():
        return _recorded()[op.name]
    for rule in (
        *(op.vjp.values() if isinstance(op.vjp, dict) else [op.vjp]),
        op.forward,
        op.samples,
    ):
        code = getattr(rule, "__code__", None)
        if code is not None and not Path(code.co_filename).name.startswith("_"):
            return Path(code.co_filename), code.co_firstlineno
    for path in sorted((ROOT / "pellucid" / "ops").rglob("*.py")):  # recorded in a loop over names
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.search(rf'"{op.name}\b', line):
                return path, number
    raise LookupError(f"no file records {op.name}")


def differentiable(op: Primitive) -> str:
    """For which arguments an operation has a gradient rule."""
    if op.vjp is None:
        return "none"
    if callable(op.vjp):
        return "all arguments"
    return ", ".join(f"`{a}`" for a in op.args if a in op.vjp) or "none"


def gradient_rules(op: Primitive) -> list[str]:
    """The gradient rules that are short expressions: `input`: `g * cos(input)`."""
    return [f"`{a}`: `{text}`" for a, text in formulas.gradients(op).items()]


def exported_as(op: Primitive) -> str:
    """The ONNX operators that an operation is exported as: the one that does the same, or those
    that its rule names.
    """
    if op.onnx is None:
        return "-"
    names = (
        [op.onnx] if isinstance(op.onnx, str) else list(dict.fromkeys(_operators(op.onnx, set())))
    )
    return ", ".join(f"`{name}`" for name in names) or "by a rule"


def _operators(rule: Any, seen: set[int]) -> Iterator[str]:
    """The ONNX operators among the words in a rule, and in the functions of its file that it calls."""
    if isinstance(rule, functools.partial):
        yield from (word for word in rule.keywords.values() if word in OPERATORS)
        rule = rule.func
    if id(rule) in seen or not inspect.isfunction(rule):
        return
    seen.add(id(rule))
    for word in rule.__code__.co_consts:
        if isinstance(word, str) and word in OPERATORS:
            yield word
    for name in rule.__code__.co_names:
        helper = rule.__globals__.get(name)
        if inspect.isfunction(helper) and helper.__module__ == rule.__module__:
            yield from _operators(helper, seen)


def shapes_of(op: Primitive, most: int = 3) -> list[str]:
    """Shapes of sample arguments and results, as the tests run them: `(3, 4), (4,) → (3, 4)`."""
    found: list[str] = []
    if op.samples is None:
        return found
    for sample in op.samples(np.random.default_rng(zlib.crc32(op.name.encode()))):
        if sample.error is not None or any(
            isinstance(a, np.ndarray) and 0 in a.shape for a in sample.args
        ):
            continue
        result = op.call(
            *(make_tensor(a.copy()) if isinstance(a, np.ndarray) else a for a in sample.args),
            **sample.params,
        )
        shown = [str(tuple(a.shape)) for a in sample.args if isinstance(a, np.ndarray)]
        outs = [
            str(tuple(t.shape))
            for t in (result if isinstance(result, (tuple, list)) else [result])
            if isinstance(t, Tensor)
        ]
        options = ", ".join(
            f"{k}={v!r}"
            for k, v in sample.params.items()
            if isinstance(v, (int, bool, tuple, list, str))
        )
        text = f"`{', '.join(shown)} → {', '.join(outs)}`" + (
            f" with `{options}`" if options else ""
        )
        if shown and outs and text not in found and len(text) < 110:
            found.append(text)
        if len(found) == most:
            break
    return found


def source_link(path: Path, line: int) -> str:
    inside = path.resolve().relative_to(ROOT).as_posix()
    return f"[{inside}](source:{inside}#L{line})"


# ---- pages -----------------------------------------------------------------------------------
def head(anchor: str, title: str, above: str, above_title: str) -> Iterator[str]:
    """The beginning of the page of one name. It is in no list of the sidebar, which would become
    too long; its chapter leads to it.
    """
    yield from [
        "---",
        "orphan: true",
        "---",
        "",
        f"({anchor})=",
        f"# {title.replace('_', chr(92) + '_')}",
        "",
    ]
    yield from [f"[Reference](html:index.html) / [{above_title}](html:{above}.html)", ""]


def first_sentence(text: str) -> str:
    """What stands beside a name in a list."""
    block = inspect.cleandoc(text).split("\n\n")[0]
    if block.lstrip().startswith(">>>"):
        return ""
    return re.sub(
        r"(?<!\\)\|",
        r"\\|",
        prose(re.split(r"(?<=[.:;])\s", " ".join(block.split()))[0].rstrip(":;")),
    )


def name_row(anchor: str, shown: str, about: str) -> str:
    return f'| <a id="{anchor}"></a>[`{shown}`](html:{anchor}.html) | {first_sentence(about)} |'


def function_text(entry: Entry, errors: bool = True) -> Iterator[str]:
    """The page of a function; `errors`: with the calls that it refuses, which takes time to find
    out.
    """
    title = entry.names[0]
    method = title.startswith("Tensor.")
    chapter = chapter_of(entry)
    yield from head(entry.anchor, title, chapter, CHAPTERS[chapter][0])
    yield from signature_lines(entry.function, title, method)
    others = entry.names[1:]
    if others:
        yield f"Also: {', '.join(f'`{n}`' for n in others)}."
    short = title.rpartition(".")[2]
    related = [e for e in entries() if e is not entry and e.names[0].rpartition(".")[2] == short]
    links = [f"[`{e.names[0]}`](html:{e.anchor}.html)" for e in related]
    links += [f"[`nn.{name}`](html:{slug('nn.' + name)}-class.html)" for name in modules_of(short)]
    if links:
        yield f"See also: {', '.join(links)}."
    if entry.inplace:
        yield f"In place: {', '.join(f'`{n}`' for n in entry.inplace)}."
    yield ""
    about = inspect.getdoc(entry.function) or ""
    yield from docstring(about)
    if errors:
        yield from mistakes.table(mistakes.of_function(entry))
    yield from facts(entry)


def facts(entry: Entry) -> Iterator[str]:
    """What the operation table knows of the function."""
    rows = []
    own = {name.rpartition(".")[2] for name in entry.names}
    main = next((op for op in entry.records if op.name in own), None)
    if main is not None:
        computed = formulas.forward(main)
        if computed:
            rows.append(("Formula", f"`out = {computed}`"))
        rows.append(("Operation", f"[`{main.name}`](html:operations.html#op-{slug(main.name)})"))
        rows.append(("Gradient for", differentiable(main)))
        rules = gradient_rules(main)
        if rules:
            rows.append(("Gradient (`g`: of `out`)", "<br>".join(rules)))
        if main.onnx is not None:
            rows.append(("ONNX", exported_as(main)))
        shapes = shapes_of(main)
        if shapes:
            rows.append(("Shapes", "; ".join(shapes)))
    elif entry.records:
        rows.append(
            (
                "Composed of",
                ", ".join(
                    f"[`{op.name}`](html:operations.html#op-{slug(op.name)})"
                    for op in entry.records[:8]
                ),
            )
        )
        if len(entry.records) == 1:
            rows.append(("Gradient for", differentiable(entry.records[0])))
    rows.append(("Source", source_link(*entry.home)))
    yield "| | |"
    yield "|---|---|"
    for name, value in rows:
        yield f"| {name} | {value.replace('|', chr(92) + '|')} |"
    yield ""


def chapter_of(entry: Entry) -> str:
    path = entry.home[0]
    where = path.resolve().relative_to(ROOT / "pellucid").with_suffix("").as_posix()
    for key, (_, patterns) in CHAPTERS.items():
        if any(fnmatch.fnmatchcase(where, pattern) for pattern in patterns.split()):
            return key
    raise AssertionError(f"no chapter for {path}")


def operations_page() -> str:
    lines = [
        "# Operation table",
        "",
        f"All {len(PRIMITIVES)} primitives, as they are recorded. Everything else is made of them. *Forward mode* and *batching* say",
        "how directional derivatives and `vmap` are done: by a rule of the record, or in a word; *dims* means that dimensions move by one,",
        "*leading* that any number of them may stand in front. *ONNX* names the operators that an operation is exported as. In gradients",
        "`g` is the gradient of the result, `out` the result, and `F` the operations to compute with; broadcasting is undone by the engine.",
        "",
        "| operation | arguments | gradient | forward mode | batching | kind | ONNX | source |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, op in sorted(PRIMITIVES.items()):
        kind = (
            ", ".join(w for w, yes in (("view", op.view), ("element-wise", op.elementwise)) if yes)
            or "-"
        )
        forward = (
            op.jvp
            if isinstance(op.jvp, str)
            else "rule"
            if op.jvp is not None
            else "from gradient"
            if op.vjp
            else "-"
        )
        batch = (
            op.batch
            if isinstance(op.batch, str)
            else "rule"
            if op.batch is not None
            else "sample by sample"
        )
        path, line = place_of(op)
        arguments = ", ".join(f"`{a}`" for a in op.args) + (" ..." if op.variadic else "")
        link = source_link(path, line).replace(
            f"[{path.resolve().relative_to(ROOT).as_posix()}]", f"[{path.stem}]"
        )
        anchor = f'<a id="op-{slug(name)}"></a>'
        rules = gradient_rules(op)
        told = isinstance(op.vjp, dict) and len(rules) == len(op.vjp)
        gradient = "<br>".join(rules).replace("|", "\\|") if told else differentiable(op)
        lines.append(
            f"| {anchor}`{name}` | {arguments} | {gradient} | {forward} | {batch} | {kind} | {exported_as(op)} | {link} |"
        )
    return "\n".join([*lines, ""])


@functools.cache
def _used_by_modules() -> dict[str, list[str]]:
    """Classes of nn by the functions that their `forward` calls."""
    found: dict[str, list[str]] = {}
    for name in (
        pellucid.nn.modules.__all__ if hasattr(pellucid.nn.modules, "__all__") else dir(pellucid.nn)
    ):
        cls = getattr(pellucid.nn, name, None)
        code = getattr(getattr(cls, "forward", None), "__code__", None)
        if inspect.isclass(cls) and code is not None:
            for word in code.co_names:
                found.setdefault(word, []).append(name)
    return found


def modules_of(function: str) -> list[str]:
    """The classes of nn that call a function of nn.functional, nearest in name first."""
    names = [
        name
        for name in _used_by_modules().get(function, [])
        if name in getattr(pellucid.nn, "__all__", dir(pellucid.nn))
    ]
    plain = function.replace("_", "")
    return sorted(names, key=lambda n: (plain not in n.lower(), n))[:6]


def functions_of(cls: type) -> list[Entry]:
    """The functions of nn.functional that a module's `forward` calls."""
    code = getattr(getattr(cls, "forward", None), "__code__", None)
    words = code.co_names if code is not None else ()
    return [
        e
        for e in entries()
        if any(n.startswith("nn.functional.") and n.rpartition(".")[2] in words for n in e.names)
    ]


def module_facts(cls: type) -> Iterator[str]:
    """What can be told of a class of nn by making one: its parameters; and by what it calls:
    formula and gradient.
    """
    rows = []
    tensors = formulas.parameters(cls)
    if tensors:
        rows.append(
            (
                "Parameters and buffers",
                "<br>".join(f"`{name}`: `{shape}`" for name, shape in tensors),
            )
        )
    called = functions_of(cls)
    if called:
        rows.append(
            ("Computed by", ", ".join(f"[`{e.names[0]}`](html:{e.anchor}.html)" for e in called))
        )
    alike = relatives(cls)
    if alike:
        rows.append(
            ("See also", ", ".join(f"[`nn.{n}`](html:{slug('nn.' + n)}-class.html)" for n in alike))
        )
    for entry in called[:1] if len(called) == 1 else []:
        own = {name.rpartition(".")[2] for name in entry.names}
        for op in [op for op in entry.records if op.name in own][:1]:
            text = formulas.forward(op)
            rows += [("Formula", f"`out = {text}`")] if text else []
            rules = gradient_rules(op)
            rows += [("Gradient (`g`: of `out`)", "<br>".join(rules))] if rules else []
    if rows:
        yield from [
            "| | |",
            "|---|---|",
            *(f"| {a} | {b.replace('|', chr(92) + '|')} |" for a, b in rows),
            "",
        ]


def _shown(call: str, name: str) -> Iterator[str]:
    """A call and what it gives, unless it fails or draws random numbers."""
    if not hasattr(pellucid.nn, name):
        return
    before = pellucid.get_rng_state()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            shown = repr(eval(call, {"torch": pellucid}))
    except Exception:
        return  # it wants other arguments
    if pellucid.equal(before, pellucid.get_rng_state()) and len(shown) < 1000:
        yield from ["```python", ">>> import pellucid as torch", f">>> {call}", shown, "```", ""]


def class_text(cls: type, name: str, errors: bool = True) -> Iterator[str]:
    yield from signature_lines(cls, name)
    yield from docstring(inspect.getdoc(cls) or "")
    if issubclass(cls, pellucid.nn.Module):
        if ">>>" not in (inspect.getdoc(cls) or ""):
            yield from _shown(
                f"torch.nn.{cls.__name__}()(torch.tensor([[-1.0, 0.5], [2.0, 3.0]]))", cls.__name__
            )
        if errors:
            yield from mistakes.table(mistakes.of_layer(cls))
        yield from module_facts(cls)
    methods = []
    for key, value in vars(cls).items():
        function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if (
            key.startswith("_")
            or key == "forward"
            or not (inspect.isfunction(function) or isinstance(value, property))
        ):
            continue
        about = (
            (inspect.getdoc(value.fget if isinstance(value, property) else function) or "")
            .strip()
            .split("\n\n")[0]
        )
        if about:
            shown = (
                key
                if isinstance(value, property)
                else signature_text(function, key, not isinstance(value, staticmethod))
            )
            methods.append(f"- `{shown}`: {prose(' '.join(about.split()))}")
    if methods:
        yield from ["**Methods and properties**", "", *methods, ""]


def shown_name(name: str) -> str:
    """A module's name: PyTorch's where PyTorch has it."""
    return (
        f"pellucid.{name}" if name in ("check", "debug", "interop", "scalar") else f"torch.{name}"
    )


def defined_at(target: Any) -> tuple[Path, int] | None:
    """The file and line of a function or class; a class that gives another module as its own is
    found by its methods.
    """
    try:
        return Path(inspect.getfile(target)), max(inspect.getsourcelines(target)[1], 1)
    except (OSError, TypeError):
        methods = [v for v in vars(target).values() if inspect.isfunction(v)]
    for path in {Path(inspect.getfile(method)) for method in methods}:
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if re.match(rf"class {target.__name__}\b", text):
                return path, line
    return None


def module_pages(name: str, title: str, errors: bool = True) -> dict[str, str]:
    """The page of a module, and one of each name in it."""
    module = importlib.import_module(f"pellucid.{name}")
    shown = shown_name(name)
    lines = [f"# {title}: `{shown}`", ""]
    lines += docstring(module.__doc__ or "")
    names = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    groups: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for key in sorted(dict.fromkeys(names), key=str.lower):
        value = getattr(module, key)
        if not (inspect.isclass(value) or inspect.isfunction(value)) or not str(
            value.__module__
        ).startswith("pellucid"):
            continue
        full = f"{shown.removeprefix('torch.')}.{key}"
        anchor = slug(full) + "-class" * inspect.isclass(value)
        group = group_of(value) if name == "nn" else ""
        groups.setdefault(group, []).append(name_row(anchor, key, inspect.getdoc(value) or ""))
        own = list(head(anchor, full, name.replace(".", "-"), title))
        if inspect.isclass(value):
            own += class_text(value, full, errors)
        else:
            own += [*signature_lines(value, full), *docstring(inspect.getdoc(value) or "")]
        texts[f"{anchor}.md"] = "\n".join([*own, ""])
        place = defined_at(inspect.unwrap(value))
        if place is not None:
            texts[f"{anchor}.md"] += f"Source: {source_link(*place)}\n"
    for group in sorted(groups, key=[*LAYERS, "Others", ""].index):
        lines += [
            *([f"## {group}", ""] if group else []),
            "| name | |",
            "|---|---|",
            *groups[group],
            "",
        ]
    return {f"{name.replace('.', '-')}.md": "\n".join([*lines, ""]), **texts}


# Groups of torch.nn's page, by the file that defines a class.
LAYERS = {
    "Containers": "module container parameter",
    "Linear layers": "linear",
    "Convolution": "conv",
    "Pooling": "pooling",
    "Padding": "padding",
    "Activations": "activation",
    "Normalization": "batchnorm instancenorm normalization",
    "Dropout": "dropout",
    "Recurrent layers": "rnn",
    "Attention and Transformers": "attention transformer",
    "Embeddings": "sparse",
    "Losses": "loss adaptive",
    "Distances": "distance",
    "Shapes and resampling": "flatten fold channelshuffle pixelshuffle upsampling",
    "Lazy layers": "lazy",
}


def group_of(value: Any) -> str:
    file = str(value.__module__).rpartition(".")[2]
    return next((title for title, files in LAYERS.items() if file in files.split()), "Others")


def relatives(cls: type, most: int = 6) -> list[str]:
    """Classes of nn that differ in the number of dimensions, or in being lazy: Conv1d, Conv3d and
    LazyConv2d for Conv2d.
    """

    def stem(name: str) -> str:
        return re.sub(r"(?<=[a-z])[123]d$|Cell$", "", name.removeprefix("Lazy"))

    names = [
        n
        for n in getattr(pellucid.nn, "__all__", dir(pellucid.nn))
        if inspect.isclass(getattr(pellucid.nn, n, None))
    ]
    return [n for n in sorted(names) if n != cls.__name__ and stem(n) == stem(cls.__name__)][:most]


def lists(page: str) -> list[tuple[str, list[str]]]:
    """What hangs under a page of the reference in the sidebar: caption and pages."""
    if page != "index.md":
        return []
    filled = {chapter_of(entry) for entry in entries()}
    return [
        ("", ["operations.md", "types.md"]),
        ("Functions", [f"{key}.md" for key in CHAPTERS if key in filled]),
        ("Modules", [f"{name.replace('.', '-')}.md" for name in MODULES]),
    ]


@functools.cache
def pages(errors: bool = True) -> dict[str, str]:
    """Markdown by path inside the reference: an index, chapters, the operation table, modules, and
    a page of each name.

    Args:
        errors: with the calls that each function refuses.
    """
    found = entries()
    chapters: dict[str, list[Entry]] = {key: [] for key in CHAPTERS}
    for entry in found:
        chapters[chapter_of(entry)].append(entry)
    texts: dict[str, str] = {}
    for key, (title, _) in CHAPTERS.items():
        if chapters[key]:
            ordered = sorted(
                chapters[key],
                key=lambda e: (SPACES + ("Tensor",)).index(e.names[0].rpartition(".")[0]),
            )
            lines = [f"# {title}", "", "| name | |", "|---|---|"]
            for entry in ordered:
                lines.append(
                    name_row(entry.anchor, entry.names[0], inspect.getdoc(entry.function) or "")
                )
                texts[f"{entry.anchor}.md"] = "\n".join(function_text(entry, errors))
            texts[f"{key}.md"] = "\n".join([*lines, ""])
    for name, title in MODULES.items():
        for path, text in module_pages(name, title, errors).items():
            assert path not in texts, path
            texts[path] = text
    texts["types.md"] = types_page(
        {name.rpartition(".")[2] for entry in found for name in entry.names}, texts
    )
    texts["operations.md"] = operations_page()
    texts["index.md"] = index_page(chapters)
    return texts


def types_page(functions: set[str], texts: dict[str, str]) -> str:
    """Element types, and whatever else the root holds that is on none of the other pages."""
    lines = ["# Element types, devices, generators", "", "## Element types", ""]
    aliases: dict[Any, list[str]] = {}
    for name, dtype in dtypes.BY_NAME.items():
        aliases.setdefault(dtype, []).append(name)
    lines += ["| `torch.` | also | bytes | kind |", "|---|---|---|---|"]
    for dtype, (name, *others) in aliases.items():
        kind = (
            "complex"
            if dtype.is_complex
            else "floating point"
            if dtype.is_floating_point
            else "integer"
        )
        also = ", ".join(f"`{other}`" for other in others) or "-"
        lines.append(
            f"| `{name}` | {also} | {dtype.itemsize} | {'truth value' if name == 'bool' else kind} |"
        )
    lines.append("")
    headings = (
        heading
        for text in texts.values()
        for heading in re.findall(r"^# (\S+)$", text, re.MULTILINE)
    )
    shown = {heading.replace("\\", "").rpartition(".")[2] for heading in headings}
    for name in dir(pellucid):
        value = getattr(pellucid, name)
        ours = (inspect.isclass(value) or inspect.isfunction(value)) and str(
            value.__module__
        ).startswith("pellucid")
        if (
            ours
            and name not in functions | shown
            and not name.startswith("_")
            and not re.search("Storage$|Tensor$|^[A-Z].*Error$", name)
        ):
            full = f"torch.{name}"
            lines += [
                f"({slug(full)}{'-class' * inspect.isclass(value)})=",
                f"## {full.replace('_', chr(92) + '_')}",
                "",
            ]
            lines += (
                class_text(value, full) if inspect.isclass(value) else signature_lines(value, full)
            )
            if inspect.isfunction(value):
                lines += docstring(inspect.getdoc(value) or "")
    return "\n".join([*lines, ""])


def index_page(chapters: dict[str, list[Entry]]) -> str:
    count = sum(map(len, chapters.values()))
    lines = [
        "# API reference",
        "",
        f"Generated from the operation table and the docstrings: {count} functions and methods, {len(PRIMITIVES)}",
        f"[operations](html:operations.html), {len(PROPERTIES)} properties of Tensor. Names, arguments and defaults are PyTorch's;",
        "the examples run as tests.",
        "",
        "## Functions and methods of Tensor",
        "",
    ]
    for key, found in chapters.items():
        if found:
            listed = ", ".join(
                f"[{e.names[0].removeprefix('torch.').replace('_', chr(92) + '_')}](html:{e.anchor}.html)"
                for e in sorted(
                    found, key=lambda e: (not e.names[0].startswith("torch."), e.names[0].lower())
                )
            )
            lines += [f"**[{CHAPTERS[key][0]}](html:{key}.html)**: {listed}", ""]
    lines += ["## Modules", "", "- [`torch`](html:types.html): element types, devices, generators"]
    lines += [
        f"- [`{shown_name(name)}`](html:{name.replace('.', '-')}.html): {title}"
        for name, title in MODULES.items()
    ]
    lines += ["", "## Properties of Tensor", "", "| property | |", "|---|---|"]
    for name, getter in sorted(PROPERTIES.items()):
        about = (inspect.getdoc(getter) or "").split("\n\n")[0]
        lines.append(f"| `{name}` | {prose(' '.join(about.split()))} |")
    return "\n".join([*lines, ""])
