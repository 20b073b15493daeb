"""Random programs: Pellucid against PyTorch (where it is installed), and compiled against eager.

A case is the text of a program, line by line. `program` is called several times; in between, flags,
parameters, hooks and arguments change. What every call gives or raises is compared, and so is all
that is left at the end: variables, parameters, gradients, optimizers' state, write counters, modes
and the stream of random numbers. Rounding is told from faults by runs in which all values are moved
by some units in the last place: what those runs do not change may not differ.

`program_grammar` has the statements, `program_runs` runs and compares.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import importlib.util
import io
import mmap
import multiprocessing
import os
import random
import signal
import struct
import time
import types
import warnings
from collections.abc import Iterator
from typing import Any

import program_grammar as grammar
import program_open as circumstances
import program_runs as runs

import pellucid

for name in (
    "nn",
    "optim",
    "func",
    "fft",
    "linalg",
    "compiler",
    "utils.checkpoint",
    "nn.utils.parametrizations",
    "autograd.functional",
    "amp",
    "api.messages.hints",
    "kernels.random.draws",
):
    importlib.import_module(f"pellucid.{name}")  # once, and not in each process of a case
for name in ("scipy.special", "scipy.linalg", "llvmlite.binding"):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)

NEEDS_TORCH = False
TORCH = importlib.util.find_spec("torch") is not None
if TORCH:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch's own making
        import torch
        import torch._decomp.decompositions_for_jvp
        import torch._dynamo
        import torch.profiler._cupti_monitor

    torch.set_num_threads(1)

KNOWN: dict[str, str] = {  # PyTorch refuses, and here there is a result
    "eager accepted RuntimeError Batching rule not implemented": "PyTorch cannot batch it",
    "eager accepted RuntimeError Expected nested_tensorlist": "PyTorch's words for gradients that are not there",
    "eager accepted RuntimeError derivative for aten": "PyTorch has no gradient for it",
    "eager accepted RuntimeError Found dtype": "PyTorch refuses another dtype of out= where it need not",
    "eager accepted RuntimeError Expected out tensor to have dtype": "PyTorch refuses another dtype of out= where it need not",
    "eager accepted RuntimeError result dtype": "PyTorch refuses another dtype of out= where it need not",
    "eager accepted RuntimeError addmv input tensors must": "PyTorch refuses another dtype of out= where it need not",
    "eager error class RuntimeError Found dtype": "losses of two dtypes have gradients",
    "eager error class RuntimeError Trying to backward": "the gradient needs no value that the first backward freed",
    "eager accepted RuntimeError one of the variables needed for gradient": "an operation keeps a copy of what it overwrites of its own operands",
    "eager accepted RuntimeError Trying to backward through the graph": "the gradient needs no value that the first backward freed",
    "eager accepted RuntimeError Output of": "views of several, written to past the graph: read as they are",
    "eager accepted RuntimeError A view was created in no_grad": "views made without gradients, written to past the graph: read as they are",
    "eager accepted RuntimeError unsupported operation more than one element": "a gradient that PyTorch expands has memory of its own",
    "eager accepted RuntimeError view size is not compatible": "the layout of results is not PyTorch's everywhere",
    "eager accepted RuntimeError Autograd not support dtype": "parts of integers take values that require gradients, as whole ones do",
    "eager accepted TypeError add argument 'alpha'": "a tensor of one number serves as the number",
    "eager accepted RuntimeError MKL FFT": "no transform of nothing in PyTorch's library",
    "eager accepted RuntimeError vmap aten": "PyTorch cannot batch it",
    "eager accepted RuntimeError D tensors expected": "an out= that is also an operand is given the result's shape",
    "eager error class RuntimeError unsupported operation more than one": "a gradient that PyTorch expands has memory of its own",
    "eager accepted RuntimeError setStorage sizes": "a gradient that PyTorch expands has memory of its own",
    "eager accepted RuntimeError self storage_offset must": "a tensor without elements has no place in memory",
    "eager accepted RuntimeError Tensor must have a": "a tensor without elements has no strides",
    "eager accepted RuntimeError output with shape": "an out= that is also an operand is given the result's shape",
    "eager accepted RuntimeError Either your tensor may have escaped": "what a function under vmap stores stays usable",
    "eager accepted RuntimeError scatter_reduce does not support": "what PyTorch refuses to differentiate is differentiated here",
    "eager accepted RuntimeError nan_to_num does not support": "what PyTorch refuses to differentiate is differentiated here",
    "eager accepted NotImplementedError": "PyTorch has no kernel for this dtype",
    "eager accepted RuntimeError A view was created in inference mode": "views made without gradients, written to past the graph: read as they are",
    "eager accepted RuntimeError new_fn INTERNAL ASSERT FAILED": "PyTorch loses how a view was made",
    "eager accepted RuntimeError stack expects a non empty TensorList": "a Jacobian by no numbers is empty",
    "eager accepted RuntimeError self stride must be": "a tensor without elements has no strides",
    "eager error class RuntimeError one of the variables needed for gradient": "an operation keeps a copy of what it overwrites of its own operands",
    "eager refused RuntimeError torch complex has no NumPy counterpart": "complex numbers of two float16 are not there",
    "eager refused RuntimeError unsupported operation more than one": (
        "writes to memory that overlaps itself are refused, also triu_() and out= of another size"
    ),
    "eager refused IndexError index is out of bounds": (
        "an index out of range is refused also where nothing is written"
    ),
    "eager refused RuntimeError Trying to backward": (
        "alpha= is a product of its own, whose number the first backward frees"
    ),
    "eager accepted RuntimeError vmap called random": "nothing is drawn for no elements",
    "eager accepted RuntimeError torch func grad vjp": (
        "PyTorch has no hooks on saved tensors under transforms"
    ),
    "eager accepted RuntimeError Can't detach views": (
        "gradients that PyTorch expands, and some results of modules, have memory of their own"
    ),
    "eager accepted RuntimeError cannot reshape tensor of elements": "vmap of no samples gives no samples",
    "eager accepted RuntimeError Function ScatterAddBackward": "no gradient reaches the parts of the source beyond the index",
    "eager error class RuntimeError Function ComplexBackward": "PyTorch holds a gradient to the shape that data had before",
    "eager accepted IndexError select index out of range": ("vmap of no samples gives no samples"),
    "eager accepted RuntimeError view_as_real": "conjugation is never lazy",
    **{
        f"eager accepted RuntimeError The function '{name}": "what PyTorch refuses to differentiate is differentiated here"
        for name in ("soft_margin_loss", "binary_cross_entropy", "multi_margin_loss")
    },
    "eager error text Batching rule not implemented": "PyTorch cannot batch it",
    "compiled error text one of the variables": "a program counts the writes of all of its calls, and calls results by other names",
    "eager refused RuntimeError unsupported operation some elements": "PyTorch computes with what is half overwritten",
    **{f"eager open {why}": why for why in circumstances.REASONS},
}
# what oneDNN says on processors without, say, two-byte arithmetic
NO_KERNEL = "could not create a primitive"
# of results, nobody promises them; views are held to them elsewhere
SKIP_EAGER: tuple[str, ...] = ("stride",)
SKIP_COMPILED: tuple[str, ...] = ()
ERRORS = "(RuntimeError, IndexError, ValueError, TypeError, AttributeError)"
SECONDS_A_DRAW = 20
SECONDS_OF_TORCH = 40
DRAWS_A_PROCESS = 200
SHARE_EAGER = 0.7  # of the programs, are not compiled: that takes longer than all else
MOST_ELEMENTS = 600


def run(case: dict[str, Any]) -> str | None:
    text = "\n".join(case["program"]) + "\n"
    only = case.get("only")
    eager = runs.execute(text, "pellucid")
    if TORCH and only != "compiled":
        wanted = by_torch(text)
        failure = None if wanted is None else runs.judge(text, wanted, eager, "eager", SKIP_EAGER)
        if failure is not None:
            why = circumstances.excused(runs.kind_of(failure), text)
            return f"eager open {why}: {failure}\n{text}" if why else f"{failure}\n{text}"
    if only != "eager":
        compiled = runs.execute(text, "pellucid", compiling=case.get("options", {}))
        failure = runs.judge(text, eager, compiled, "compiled", SKIP_COMPILED)
        if failure is not None:
            return f"{failure}\n{text}"
    return None


_torch: list[Any] = []  # the connection to the process in which PyTorch runs


def start_torch() -> None:
    """Start the process in which PyTorch runs. It answers to whoever holds the connection, one
    after another.
    """
    here, there = multiprocessing.Pipe()
    if os.fork() == 0:
        here.close()
        with contextlib.suppress(EOFError):
            while True:
                number, text = there.recv()
                signal.alarm(SECONDS_OF_TORCH)
                there.send((number, runs.execute(text, "torch")))
                signal.alarm(0)
        os._exit(0)
    there.close()
    _torch[:] = [here]


def by_torch(text: str) -> list[runs.Leaf] | None:
    """What PyTorch makes of a program, in a process of its own: None where it dies of it, or lacks
    a kernel for this processor.
    """
    if not _torch:
        start_torch()
    number = f"{os.getpid()} {time.monotonic_ns()}"
    try:
        _torch[0].send((number, text))
        answered, leaves = _torch[0].recv()
        while answered != number:  # an answer to a process that died before it read it
            answered, leaves = _torch[0].recv()
        return (
            None
            if any(kind == "text" and NO_KERNEL in value for _, kind, value, _ in leaves)
            else leaves
        )
    except (EOFError, OSError):
        _torch.clear()
        return None


# ---- drawing -------------------------------------------------------------------------------------------------------------------------


# the process in which statements are tried, its end of the pipe, and how many programs it has drawn
_drawing: list[Any] = []


def draw(choose: random.Random) -> dict[str, Any]:
    """A program whose statements were tried one by one, in another process: one that dies of a
    statement is a case with it.
    """
    if TORCH and not _torch:
        start_torch()  # here, and not in each of the processes that run cases
    only = {"only": "eager"} if choose.random() < SHARE_EAGER else {}
    content, tried = _drawn(choose.getstate(), None)
    if content is None:
        content, _ = _drawn(choose.getstate(), tried)
    options = {} if only or choose.random() < 0.8 else {"options": {"dynamic": True}}
    return {"program": content or ["raise RuntimeError('nothing was drawn')"], **only, **options}


def _drawn(state: Any, stop: int | None) -> tuple[list[str] | None, int]:
    """The program, and how many statements were tried; it ends with the statement number `stop`,
    untried.
    """
    if not _drawing or _drawing[3] >= DRAWS_A_PROCESS:
        _stop_drawing()
        tried = mmap.mmap(-1, 8)
        here, there = multiprocessing.Pipe()
        child = os.fork()
        if child == 0:
            here.close()
            with contextlib.suppress(EOFError):
                while True:
                    state_, stop_ = there.recv()
                    signal.alarm(SECONDS_A_DRAW)
                    choose = random.Random()
                    choose.setstate(state_)
                    tried[:8] = struct.pack("q", 0)
                    runs.reset(pellucid)
                    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                        warnings.simplefilter("ignore")
                        content = Maker(choose, tried, stop_).build()
                    signal.alarm(0)
                    there.send(content)
            os._exit(0)
        there.close()
        _drawing[:] = [child, here, tried, 0]
    _drawing[3] += 1
    tried = _drawing[2]
    try:
        _drawing[1].send((state, stop))
        content = _drawing[1].recv()
    except (EOFError, OSError):
        content = None
        _stop_drawing()
    return content, struct.unpack("q", tried[:8])[0]


def _stop_drawing() -> None:
    if _drawing:
        _drawing[1].close()
        os.waitpid(_drawing[0], 0)
        _drawing.clear()


class Stop(Exception):
    """The program is to end with this statement."""


class Maker:
    """Chooses a program, statement after statement."""

    def __init__(self, choose: random.Random, tried: mmap.mmap, stop: int | None) -> None:
        self.choose, self.tried, self.stop, self.count = choose, tried, stop, 0
        self.values: dict[str, Any] = {"told": runs.told}
        self.fill = grammar.Fill(choose, self.values, pellucid)
        self.setup: list[str] = []
        self.body: list[str] = []
        self.calls: list[str] = []
        self.arguments: list[str] = []
        self.tables = {
            name: grammar.table(getattr(grammar, name))
            for name in (
                "VIEWS",
                "RESULTS",
                "WRITES",
                "GRADIENTS",
                "GRADIENT_RESULTS",
                "NUMBERS",
                "SIDE_EFFECTS",
                "BLOCKS",
                "MODULE_USES",
                "OPTIMIZER_USES",
                "BETWEEN",
                "USES",
            )
        }
        self.weights = {
            "VIEWS": choose.choice([10, 25]),
            "RESULTS": choose.choice([20, 35]),
            "WRITES": choose.choice([3, 20, 30]),
            "GRADIENTS": choose.choice([2, 8]),
            "GRADIENT_RESULTS": choose.choice([1, 5]),
            "NUMBERS": choose.choice([1, 5]),
            "SIDE_EFFECTS": choose.choice([1, 6]),
            "BLOCKS": choose.choice([2, 8]),
        }

    def run(self, text: str) -> None:
        exec(_code(text), self.values)

    def ready(self, text: str) -> None:
        self.run(text)
        self.setup.append(text)

    def program(self, more: str = "") -> list[str]:
        """The lines of the program as it stands, with `more` at the end of its function."""
        body = "\n".join([*self.body, more]).rstrip() or "pass"
        returned = [name for name in dict.fromkeys([*self.fill.names[-3:], *self.returned]) if name]
        outside = {name for text in self.setup for name in _assigned(text)}
        changed = sorted(_assigned(body) & outside)
        if changed:
            body = f"global {', '.join(changed)}\n{body}"
        body += f"\nreturn [{', '.join(returned)}]"
        text = "\n".join(self.setup).rstrip() + "\n" + "\n".join(self.calls)
        used = [text_ for name, text_ in grammar.FUNCTIONS.items() if name in body or name in text]
        if "Block" in text:
            used.append(grammar.BLOCK)
        head = self.setup[0].rstrip() + "\n" + "".join(used).rstrip()
        lines = head.splitlines() + "\n".join(self.setup[1:]).splitlines()
        lines += [
            f"def program({', '.join(self.arguments)}):",
            *("    " + line for line in body.splitlines()),
        ]
        return lines + "\n".join(self.calls).splitlines()

    returned: tuple[str, ...] = ()

    def build(self) -> list[str]:
        try:
            self.chosen()
        except Stop as stop:
            self.calls = ["a, b, k = " + ", ".join([*self.spec, "2"]), "r0 = program(a, b, k)"]
            return self.program(str(stop))
        return self.program()

    def chosen(self) -> None:
        choose, fill = self.choose, self.fill
        self.ready(grammar.PRELUDE.format(seed=choose.randrange(100)))
        for text in [*grammar.FUNCTIONS.values(), grammar.BLOCK]:
            self.run(text)
        for number in range(choose.choice([1, 2, 2, 3])):
            dtype = choose.choice(
                [
                    "",
                    "",
                    "",
                    "",
                    ", dtype=torch.float64",
                    ", dtype=torch.complex64",
                    ", dtype=torch.bfloat16",
                ]
            )
            self.ready(
                f"p{number} = torch.randn({choose.choice(grammar.SIZES[:8])}, generator=g{dtype}).requires_grad_()"
            )
            fill.parameters.append(f"p{number}")
        for number in range(choose.choice([0, 0, 1, 1, 2])):
            made, example = choose.choice(grammar.MODULES)
            self.ready(f"m{number} = {made}")
            fill.modules[f"m{number}"] = example
            if example:
                self.run(f"example_{number} = {example}")
                self.values[f"example of m{number}"] = self.values[f"example_{number}"]
            if choose.random() < 0.15:
                self.ready(
                    choose.choice(
                        [
                            f"m{number}.double()",
                            f"m{number}.eval()",
                            f"m{number}.requires_grad_(False)",
                        ]
                    )
                )
        if choose.random() < 0.45:
            lists = [
                f"m{n}.parameters()"
                for n in range(len(fill.modules))
                if list(self.values[f"m{n}"].parameters())
            ]
            lists.append(f"[{', '.join(fill.parameters)}]")
            self.ready("o = " + choose.choice(grammar.OPTIMIZERS).format(ps=choose.choice(lists)))
            fill.optimizers.append("o")
            if choose.random() < 0.4:
                self.ready("sch = " + choose.choice(grammar.SCHEDULES).format(o="o"))
                fill.schedules.append("sch")
        fill.names += [*fill.parameters, "a", "b"]
        if choose.random() < 0.3:
            self.ready(f"w = {self.created()}")
            fill.names.append("w")
        self.arguments = ["a", "b", "k"]
        self.spec = spec = [self.created(), self.created()]
        if choose.random() < 0.1:
            spec[1] = "w" if "w" in self.values else choose.choice(fill.parameters)
        self.run(f"a = {spec[0]}\nb = {spec[1]}\nk = 2\nflag = True")
        self.setup.append("flag = True")
        for _ in range(choose.choice([0, 0, 0, 1, 2])):
            self.attempt(choose.choice(self.tables["BETWEEN"]), into=self.setup)
        for _ in range(choose.choice([3, 5, 8, 12, 16])):
            self.statement(self.body, 0)
        live = fill.tensors()
        self.returned = tuple(choose.sample(live, min(len(live), choose.choice([0, 1, 2]))))
        for number in range(choose.choice([3, 3, 4, 5])):
            self.call(number, spec)

    def created(self) -> str:
        """A new tensor of some size, dtype and layout."""
        choose = self.choose
        size, dtype = choose.choice(grammar.SIZES), choose.choice(grammar.DTYPES)
        numbers = f"torch.randn({size}, generator=g"
        if dtype in ("float64", "complex64", "complex128", "bfloat16", "float16"):
            text = f"{numbers}, dtype=torch.{dtype})"
        elif dtype == "float32":
            text = f"{numbers})"
        elif dtype == "bool":
            text = f"({numbers}) > 0)"
        else:
            text = f"torch.randint(0, 5, {size}, generator=g, dtype=torch.{dtype})"
        layout = choose.choice(
            [""] * 8
            + [
                ".mT",
                "[::2]",
                ".flip(0)",
                ".transpose(0, -1)",
                "[..., 1:]",
                ".expand(2, *{size})",
                ".T.contiguous().T",
                "[None]",
                ".t()",
            ]
        )
        text += layout.replace("{size}", str(size)) if "expand" not in layout or size else ""
        if dtype[0] in "fcb" and dtype != "bool" and choose.random() < 0.25:
            text += ".requires_grad_()"
        try:
            self.run(f"created = {text}")
        except Exception:
            return self.created()
        return text

    def statement(self, into: list[str], depth: int) -> None:
        weights = dict(self.weights)
        if self.fill.modules:
            weights["MODULE_USES"] = 12
        if self.fill.optimizers:
            weights["OPTIMIZER_USES"] = 10
        if depth > 1:
            weights["BLOCKS"] = 0
        name = self.choose.choices(list(weights), list(weights.values()))[0]
        for _ in range(6):
            template = self.choose.choice(self.tables[name])
            if name in ("VIEWS", "RESULTS", "GRADIENT_RESULTS", "NUMBERS"):
                template = "{v} = " + template
                if self.choose.random() < 0.04 and name == "RESULTS":
                    template = template.removeprefix("{v} = ")
            if name == "BLOCKS":
                if self.block(template, into, depth):
                    return
            elif self.attempt(template, into):
                return

    def block(self, template: str, into: list[str], depth: int) -> bool:
        try:
            header = self.fill(template)
        except LookupError:
            return False
        inner: list[str] = []
        names = list(self.fill.names)
        if header.startswith("for t"):
            try:
                self.run(f"t = next(iter({header.removeprefix('for t in ').removesuffix(':')}))")
            except Exception:
                return False
            self.fill.names.append("t")
        if header.startswith("for i"):
            self.run("i = 1")
        for _ in range(self.choose.choice([1, 1, 2, 3])):
            self.statement(inner, depth + 1)
        self.fill.names[:] = names
        if not inner:
            return False
        text = header + "\n" + _indented(inner)
        if header.startswith("if") and self.choose.random() < 0.3:
            other: list[str] = []
            self.statement(other, depth + 1)
            self.fill.names[:] = names
            if other:
                text += "\nelse:\n" + _indented(other)
        into.append(text)
        return True

    def attempt(self, template: str, into: list[str]) -> bool:
        """Fill a template and try the statement; most that fail are dropped."""
        try:
            text = self.fill(template)
            new = _assigned(text)
        except (LookupError, SyntaxError):
            return False
        self.count += 1
        self.tried[:8] = struct.pack("q", self.count)
        if self.count == self.stop:
            raise Stop(text)
        try:
            self.run(text)
        except SyntaxError:
            return False
        except Exception:
            if self.choose.random() < 0.05:
                into.append(
                    f"try:\n{_indented([text])}\nexcept {ERRORS} as error:\n    log.append(told(error))"
                )
                return True
            if self.choose.random() < 0.004:
                into.append(text)
                return True
            return False
        for name in new:
            value = self.values.get(name)
            if isinstance(value, pellucid.Tensor) and (
                value.numel() > MOST_ELEMENTS or value.dim() > 5
            ):
                return False
        into.append(text)
        self.fill.names += [
            name for name in sorted(new) if name in self.values and name not in self.fill.names
        ]
        self.fill.names[:] = [name for name in self.fill.names if name in self.values]
        return True

    def call(self, number: int, spec: list[str]) -> None:
        choose = self.choose
        for _ in range(choose.choice([0, 0, 1, 2]) if number else 0):
            try:
                self.calls.append(self.fill(choose.choice(self.tables["BETWEEN"])))
            except LookupError:
                continue
        arguments = list(spec)
        if choose.random() < 0.15:
            arguments[choose.randrange(2)] = self.created()
        if choose.random() < 0.1:
            arguments = ["x", "x"]
            self.calls.append(f"x = {choose.choice(spec)}")
        elif choose.random() < 0.3:
            self.calls.append(f"x = {arguments[0]}")
            arguments = ["x", choose.choice([arguments[1], arguments[1], "x[:1]", "x.detach()"])]
        k = choose.choice(["2", "2", "0.5", "-1", "3", "True", "1.5"])
        call = f"r{number} = program({', '.join(arguments)}, {k})"
        around = choose.random()
        if around < 0.04:
            call = f"with torch.no_grad():\n    {call}"
        elif around < 0.06:
            call = f"with torch.inference_mode():\n    {call}"
        elif around < 0.08:
            call = f"with torch.autocast('cpu', dtype=torch.bfloat16):\n    {call}"
        elif around < 0.1:
            call = f"r{number} = torch.func.vmap(lambda s: program(s, {arguments[1]}, {k}))({arguments[0]})"
        self.calls.append(call)
        # what PyTorch says of views made there, and lets one do with them, is its own
        if around < 0.06:
            return
        self.fill.results.append(f"r{number}")
        for _ in range(choose.choice([0, 0, 1, 2])):
            self.calls.append(self.fill(choose.choice(self.tables["USES"])))


def _indented(lines: list[str]) -> str:
    return "\n".join("    " + line for text in lines for line in text.splitlines())


@functools.lru_cache(maxsize=512)
def _code(text: str) -> types.CodeType:
    tree = ast.parse(text)
    if "import" in text:
        tree = ast.fix_missing_locations(runs.Imports("pellucid").visit(tree))
    return compile(tree, "<drawn>", "exec")


@functools.lru_cache(maxsize=512)
def _assigned(text: str) -> frozenset[str]:
    """The names that a text gives values to, not counting what its functions do."""
    if "=" not in text and "del " not in text and " as " not in text and "import" not in text:
        return frozenset()
    names = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name))
    return frozenset(n.id for n in names if isinstance(n.ctx, (ast.Store, ast.Del))) - {
        "error",
        "t",
        "i",
        "key",
        "held",
    }


# ---- shrinking -----------------------------------------------------------------------------------------------------------------------


def smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The program with less in it: without statements, with simpler expressions, with smaller
    shapes.
    """
    if "only" not in case:
        yield {**case, "only": "eager"}
        yield {**case, "only": "compiled"}
    tree = ast.parse("\n".join(case["program"]))
    seen = {ast.unparse(tree)}
    for text in _simpler(tree):
        if text not in seen:
            seen.add(text)
            yield {**case, "program": text.splitlines()}


def _simpler(tree: ast.Module) -> Iterator[str]:
    bodies = [node for node in ast.walk(tree) if isinstance(getattr(node, "body", None), list)]
    lists = [
        (node, name)
        for node in bodies
        for name in ("body", "orelse", "handlers")
        if getattr(node, name, None)
    ]
    for size in (16, 8, 4, 2, 1):
        for node, name in lists:
            statements = getattr(node, name)
            for start in range(len(statements) - size, -1, -max(size // 2, 1)):
                kept = statements[:start] + statements[start + size :]
                if not kept and name == "body":
                    if isinstance(node, ast.Module):
                        continue
                    kept = [ast.Pass()]
                yield from _with(tree, node, name, kept)
    for node, name in lists:  # a block becomes what is in it
        statements = getattr(node, name)
        for index, statement in enumerate(statements):
            inner = getattr(statement, "body", None)
            if isinstance(inner, list) and not isinstance(
                statement, (ast.FunctionDef, ast.ClassDef)
            ):
                yield from _with(
                    tree, node, name, statements[:index] + inner + statements[index + 1 :]
                )
    for parent in list(ast.walk(tree)):
        for name, old in ast.iter_fields(parent):
            if isinstance(old, ast.expr) and not isinstance(getattr(old, "ctx", None), ast.Store):
                for new in _simpler_expressions(old):
                    yield from _with(tree, parent, name, new)
            elif isinstance(old, list) and old and isinstance(old[0], (ast.expr, ast.keyword)):
                for index, item in enumerate(old):
                    yield from _with(tree, parent, name, old[:index] + old[index + 1 :])
                    if isinstance(item, ast.expr) and not isinstance(
                        getattr(item, "ctx", None), ast.Store
                    ):
                        for new in _simpler_expressions(item):
                            yield from _with(
                                tree, parent, name, [*old[:index], new, *old[index + 1 :]]
                            )


def _with(tree: ast.Module, node: Any, name: str, value: Any) -> Iterator[str]:
    old = getattr(node, name)
    setattr(node, name, value)
    try:
        text = ast.unparse(ast.fix_missing_locations(tree))
        ast.parse(text)
        yield text
    except (ValueError, SyntaxError, AttributeError):
        pass
    finally:
        setattr(node, name, old)


def _simpler_expressions(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute):
            yield node.func.value
        yield from (a for a in node.args if not isinstance(a, (ast.Constant, ast.Starred)))
        if isinstance(node.func, ast.Lambda):
            yield node.func.body
    elif isinstance(node, ast.BinOp):
        yield node.left
        yield node.right
    elif isinstance(node, (ast.UnaryOp, ast.Subscript)):
        yield node.operand if isinstance(node, ast.UnaryOp) else node.value
    elif isinstance(node, ast.Attribute):
        yield node.value
    elif isinstance(node, ast.Tuple) and len(node.elts) == 1:
        yield node.elts[0]
    elif (
        isinstance(node, ast.Constant)
        and isinstance(node.value, (int, float))
        and not isinstance(node.value, bool)
    ):
        for simple in (
            0,
            1,
            2,
            node.value // 2 if isinstance(node.value, int) else int(node.value),
        ):
            if (abs(simple), simple < 0) < (abs(node.value), node.value < 0) or type(
                simple
            ) is not type(node.value):
                yield ast.Constant(simple)
    elif (
        isinstance(node, ast.Name)
        and node.id in ("b", "p0", "p1", "p2", "w")
        and isinstance(node.ctx, ast.Load)
    ):
        yield ast.Name("a", ast.Load())
