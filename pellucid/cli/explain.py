"""`pellucid explain`: run a script, then explain one of its values or its exception."""

from __future__ import annotations

import argparse
import ast
import builtins
import difflib
import json
import re
import sys
import traceback
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from pellucid.core.source import Line, is_library
from pellucid.core.tensor import Tensor
from pellucid.debug import watch
from pellucid.debug._names import tree_of

from ..core.display.notebook import place
from ..debug.questions.errors import about_error, user_frames
from ..debug.questions.explain import QUESTIONS, explain
from ..debug.questions.naming import members
from ..debug.questions.result import Explanation
from ..debug.questions.standing import not_held, stands_still, trains_others, unregistered
from ..errors import facts_of
from ..interop.children import as_torch_too
from . import run
from .command_line import (
    Enough,
    Parser,
    add_common,
    flush,
    silencing,
    split,
    stopping_after,
    target,
)

_EPILOG = """\
SCRIPT runs unmodified, and its `import torch` gets Pellucid. Recording makes it
several times slower. Its output comes first, then the answer (with --format
json on a line of its own). Options of explain may come before or after SCRIPT.
All other arguments after it, and everything after --, belong to the script.
Without --expr and --exception, explain answers for the exception that ended the
script, or else for its models and optimizers.

exit status:
  0  there is an answer
  1  there is none: the expression cannot be evaluated, there was no exception,
     or the cause cannot be determined
  2  the script cannot be found

examples:
  pellucid explain train.py --expr model.fc.weight.grad
  pellucid explain train.py --expr loss --question depends
  pellucid explain train.py --expr "losses[0]" --question alive
  pellucid explain train.py --expr optimizer --question memory
  pellucid explain train.py --expr step --question compiled
  pellucid explain train.py --exception
  pellucid explain train.py --expr hidden --frame 0         where it was raised
  pellucid explain train.py --expr model.weight --in train  when train returned
  pellucid explain --max-steps 2 --format json --quiet train.py --epochs 100
  pellucid explain -m package.train --expr model
  pellucid explain --nproc 2 --rank 0 train_ddp.py          why rank 0 waits
"""


def main(argv: Sequence[str]) -> int:
    """Run the script, answer, and return the exit status."""
    parser = _parser()
    own, script_arguments = split(parser, argv, anywhere=True)
    options = parser.parse_args(own)
    what = target(options, parser)
    if options.question == "wait" or options.nproc is not None:
        return _waits(options, script_arguments, what, parser)
    if options.expr is not None and _tree(options.expr) is None:
        print(
            f"pellucid explain: --expr is not a Python expression: {options.expr}", file=sys.stderr
        )
        return 1
    finished = None
    try:
        with silencing(options.quiet), as_torch_too():
            try:
                code, module = run.load(*what, script_arguments)
            except run.NotFound as error:
                print(f"pellucid: {error}", file=sys.stderr)
                return error.status
            except SyntaxError as error:
                finished = _Finished(error, None, ModuleType("__main__"), [])
            if finished is None:
                finished = _run(code, module, options)
            flush()
        found = _answer(finished, options)  # first: what is shown loses the library's frames
        if finished.error is not None and not options.quiet:
            _show(finished)
    finally:
        watch(False)
    _print(found, options)
    return 0 if found.cause not in ("unknown", "cannot-answer") else 1


def _waits(
    options: Any, rest: list[str], what: tuple[str, str], parser: argparse.ArgumentParser
) -> int:
    """Run the script as ranks, or follow those that it starts, and say why each waits, for whom,
    and where that one was.
    """
    from ..check.config import Settings
    from ..check.ranks import launch, waits
    from .check import watched

    if (
        options.question not in ("wait", "gradient")
        or options.expr is not None
        or options.exception
    ):
        parser.error("with --nproc the question is: wait")
    if options.nproc is not None and what[0] == "code":
        parser.error("--nproc needs a script or a module")
    chosen = argparse.Namespace(
        **vars(options),
        engine="pellucid",
        select="D",
        ignore=None,
        live=False,
        every_step=True,
        report=None,
        stall=launch.STALL,
    )

    def show(result: Any, options: Any, status: int) -> int:
        job = result.records
        if job is None or not job.ranks:
            print("pellucid explain: no ranks of torch.distributed were seen", file=sys.stderr)
            return 1
        text = waits.told(job, options.rank)
        if not text:
            print(f"pellucid explain: there is no rank {options.rank}", file=sys.stderr)
            return 1
        if options.format == "json":
            text = json.dumps(
                {"question": "wait", "waits": waits.listing(job, options.rank), "text": text}
            )
        if options.output is not None:
            Path(options.output).write_text(text + "\n", encoding="utf-8")
        else:
            print(text, flush=True)
        return 0

    return watched(chosen, rest, what, Settings(select=("D",)), show)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pellucid explain",
        usage="pellucid explain [options] (SCRIPT | -m MODULE | -c CODE) [options] [ARGS ...]",
        description="Run a PyTorch script on Pellucid, then explain one of its values or its exception.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_common(parser, "run and explain")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--expr",
        metavar="EXPR",
        help="what to explain: an expression over the script's variables; `x.grad` asks about "
        "the gradient of x",
    )
    which.add_argument(
        "--exception", action="store_true", help="explain the exception that ended the script"
    )
    parser.add_argument(
        "--question",
        choices=(*QUESTIONS, "wait"),
        default="gradient",
        help="what to ask about it (default: gradient); wait: why ranks of torch.distributed wait, and for whom",
    )
    parser.add_argument(
        "--nproc",
        "--nproc_per_node",
        "--nproc-per-node",
        metavar="N",
        help="run it as N ranks, and ask why they wait",
    )
    parser.add_argument(
        "--rank", metavar="R", type=int, help="with --question wait: ask only about this rank"
    )
    parser.add_argument(
        "--frame",
        metavar="N",
        type=int,
        help="evaluate EXPR in a frame of the exception: 0 is the innermost of yours",
    )
    parser.add_argument(
        "--in",
        metavar="FUNCTION",
        dest="function",
        help="evaluate EXPR with the local variables that FUNCTION had when it returned",
    )
    parser.add_argument(
        "--limit",
        metavar="N",
        type=int,
        default=200_000,
        help="how many steps of the computation to remember",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how to print (default: text)"
    )
    parser.add_argument(
        "--output", metavar="FILE", help="write the answer to FILE instead of standard output"
    )
    return parser


def _tree(text: str) -> Any:
    """An expression as a tree; `model.0.weight`, as a state dict spells it, is `model[0].weight`."""
    for spelt in (
        text.strip(),
        re.sub(r"(?<=[\w\])])\.(\d+)(?=$|[.\[\])])", r"[\1]", text.strip()),
    ):
        try:
            return ast.parse(spelt, mode="eval").body
        except SyntaxError:
            continue
    return None


# ---- running -------------------------------------------------------------------------------------
class _Finished:
    """A script that has ended: its error if it failed, its code, its module, and variables of
    functions that returned.
    """

    def __init__(
        self,
        error: BaseException | None,
        code: CodeType | None,
        module: ModuleType,
        returned: list[Any],
        depends: _Dependencies | None = None,
    ) -> None:
        self.error, self.code, self.module, self.returned, self.depends = (
            error,
            code,
            module,
            returned,
            depends,
        )


class _Dependencies:
    """What the root of the last backward call depends on, asked before the call frees the graph."""

    def __init__(self) -> None:
        self.root: Any = None
        self.found: Explanation | None = None
        self.asking = False

    def backward_start(self, roots: Any) -> None:
        if self.asking:
            return  # the answer runs a backward of its own
        self.asking = True
        try:
            self.root = weakref.ref(roots[0])
            self.found = explain(roots[0], "depends", name=_PLACE)
        finally:
            self.asking = False


_PLACE = "\0"  # stands for the name of a value that is not known yet


def _run(code: CodeType, module: ModuleType, options: Any) -> _Finished:
    from pellucid.core import observe

    sys.modules["__main__"] = module
    returned: list[Any] = []
    wanted = _wanted(code, options)
    error: BaseException | None = None
    counting = stopping_after(options.max_steps)
    depends = _Dependencies()
    asking = observe.observing(depends) if options.question == "depends" else nullcontext()
    if options.question != "compiled":  # what is recorded is not compiled
        watch(limit=options.limit)
    notes = _notes()
    if notes is not None:
        # from the script's first line: where the command itself switched it on says nothing
        notes.started = None
    try:
        with counting, asking, _noting_returns(*wanted, returned):
            exec(code, module.__dict__)
    except (SystemExit, Enough):
        pass
    except BaseException as raised:
        error = raised
    return _Finished(error, code, module, returned, depends)


def _wanted(code: CodeType, options: Any) -> tuple[set[str], set[str]]:
    """Functions whose variables will be asked for, by name, and variables of EXPR that the script's
    own level does not assign.
    """
    if options.function is not None:
        return {options.function}, set()
    tree = tree_of(code.co_filename)
    if options.frame is not None or tree is None:
        return set(), set()
    if options.expr is None:
        outside = [n for n in tree.body if not isinstance(n, (ast.FunctionDef, ast.ClassDef))]
        calls = (
            c
            for n in outside
            for c in ast.walk(n)
            if isinstance(c, ast.Call) and isinstance(c.func, ast.Name)
        )
        return {c.func.id for c in calls if isinstance(c.func, ast.Name)}, set()
    names = {n.id for n in ast.walk(_tree(options.expr)) if isinstance(n, ast.Name)}
    return set(), names - set(_stored(tree.body)) - set(vars(builtins))


def _stored(body: list[Any]) -> Iterator[str]:
    """Names that statements bind, those inside functions and classes left out."""
    waiting: list[Any] = list(body)
    while waiting:
        n = waiting.pop()
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield n.name
            continue
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store):
            yield n.id
        elif isinstance(n, ast.alias):
            yield (n.asname or n.name).partition(".")[0]
        waiting.extend(ast.iter_child_nodes(n))


@contextmanager
def _noting_returns(
    functions: set[str], variables: set[str], returned: list[Any]
) -> Iterator[None]:
    """Note where functions of the program return, and keep the variables with which those return that
    are named, or have one of the variables; the last return last in the list.
    """
    notes = _notes()
    if notes is None and not functions and not variables:
        yield
        return
    known: dict[CodeType, tuple[bool, bool]] = {}

    def wanted(code: CodeType) -> tuple[bool, bool]:
        """Whether it is noted that and where a function returns, and its variables, too."""
        own = {*code.co_varnames, *code.co_cellvars}
        ours = not is_library(code.co_filename)
        return ours, ours and (code.co_name in functions or bool(variables & own))

    def at_return(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return" and notes is not None:
            notes.returns[frame.f_code] = frame.f_code, frame.f_lasti
        if event == "return" and known[frame.f_code][1]:
            name = frame.f_code.co_name
            returned[:] = [entry for entry in returned if entry[0] != name]
            returned.append((name, dict(frame.f_locals), frame.f_globals))
        return at_return

    def at_call(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code not in known:
            known[code] = wanted(code)
        if not known[code][0]:
            return None
        frame.f_trace_lines = False
        return at_return

    before = sys.gettrace()
    sys.settrace(at_call)
    try:
        yield
    finally:
        sys.settrace(before)


def _show(finished: _Finished) -> None:
    """The traceback, as `python` shows it."""
    error = finished.error
    assert error is not None
    run.shown(
        type(error),
        error,
        run.script_frames(error.__traceback__, finished.code, error),
        traceback.print_exception,
    )
    sys.stderr.flush()


# ---- answering -----------------------------------------------------------------------------------
def _answer(finished: _Finished, options: Any) -> Explanation:
    if options.expr is not None:
        return _about_expression(finished, options)
    if finished.error is not None:
        return about_error(finished.error, _notes())
    if options.exception:
        return _cannot(
            "the script ended without an exception",
            "leave --exception out, or ask for a value: --expr NAME",
        )
    return _health(finished, options)


def _notes() -> Any:
    from pellucid.debug.watching import current

    return current()


def _cannot(text: str, fix: str) -> Explanation:
    return Explanation("cannot-answer", text, fix)


def _about_expression(finished: _Finished, options: Any) -> Explanation:
    scopes = _scopes(finished, options)
    if isinstance(scopes, Explanation):
        return scopes
    tree, shown = _tree(options.expr), options.expr.strip()
    question = options.question
    # None has no history: the tensor whose gradient it is has one.
    graph = isinstance(tree, ast.Attribute) and tree.attr in ("grad", "grad_fn")
    asked = tree.value if graph else tree
    failed: Exception | None = None
    for variables, module_variables in scopes:
        try:
            value = eval(
                compile(ast.Expression(asked), "<--expr>", "eval"), module_variables, variables
            )
        except Exception as error:
            # A name that one scope lacks another may have; any other failure is the answer.
            failed = failed if failed is not None and isinstance(error, NameError) else error
            continue
        name = ast.unparse(asked)
        if value is None:
            return _cannot(
                f"{name} is None, and None carries no history",
                "ask for the tensor that it was computed from",
            )
        if (
            isinstance(value, (list, tuple))
            and value
            and all(isinstance(v, Tensor) for v in value)
            and question == "gradient"
        ):
            return _about_list(name, value)
        kept = finished.depends
        try:
            if (
                question == "depends"
                and kept is not None
                and kept.found is not None
                and kept.root() is value
            ):
                found = kept.found
                found.text = found.text.replace(_PLACE, name)
            else:
                found = explain(value, question, name=name)
        except (TypeError, ValueError) as error:
            facts = facts_of(error)
            return _cannot(
                f"{name} cannot be explained: {error.args[0]}",
                (facts and facts.hint)
                or (
                    f"ask for one of its items, such as {name}[0]"
                    if isinstance(value, (list, tuple)) and value
                    else "ask for a tensor, a module, an optimizer or an exception"
                ),
            )
        if found.cause == "non-leaf" and finished.error is not None:
            ended = about_error(finished.error, _notes())
            if ended.cause in ("overwritten", "graph-freed"):  # its backward failed
                return ended
        if found.file is None and question == "gradient":
            found.file, found.line = _assigned(finished, asked)
        return found
    fix = (
        "ask for a variable of the script. --in FUNCTION evaluates the expression with the variables of a function, "
        "--frame N with those of a call that failed"
    )
    known = [name for variables, own in scopes for name in (*variables, *own)]
    close = difflib.get_close_matches(getattr(failed, "name", None) or "", known, 1)
    if isinstance(failed, NameError) and close:
        fix = f"did you mean {close[0]}? Otherwise {fix}"
    return _cannot(f"{shown} cannot be evaluated: {type(failed).__name__}: {failed}", fix)


def _about_list(name: str, tensors: Sequence[Tensor]) -> Explanation:
    found = [(f"{name}[{k}]", explain(t, name=f"{name}[{k}]")) for k, t in enumerate(tensors)]
    trouble = [(label, e) for label, e in found if e.cause != "none"]
    if not trouble:
        return Explanation(
            "none", f"all {len(found)} tensors of {name} have finite gradients that are not zero"
        )
    first = trouble[0][1]
    evidence = [
        f"{label}: {e.cause}" + (f" ({e.file}:{e.line})" if e.file else "") for label, e in trouble
    ]
    return Explanation(
        first.cause,
        f"{len(trouble)} of {len(found)} have no usable gradient: {first.text}",
        first.fix,
        first.where,
        evidence,
    )


def _scopes(
    finished: _Finished, options: Any
) -> list[tuple[dict[str, Any], dict[str, Any]]] | Explanation:
    """(variables, globals) in which the expression is tried."""
    own = finished.module.__dict__
    frames = user_frames(finished.error) if finished.error is not None else []
    if options.frame is not None:
        if finished.error is None:
            return _cannot(
                "there is no frame: the script ended without an exception", "leave --frame out"
            )
        if not 0 <= options.frame < len(frames):
            return _cannot(
                f"there is no frame {options.frame}: the exception passed through {len(frames)} of your frames",
                f"--frame takes 0 to {len(frames) - 1}",
            )
        frame = frames[options.frame].tb_frame
        return [(dict(frame.f_locals), frame.f_globals)]
    if options.function is not None:
        found = [
            (variables, names)
            for name, variables, names in finished.returned
            if name == options.function
        ]
        found += [
            (dict(f.tb_frame.f_locals), f.tb_frame.f_globals)
            for f in frames
            if f.tb_frame.f_code.co_name == options.function
        ]
        if not found:
            return _cannot(
                f"no function {options.function} has returned",
                "name a function of the script that is called",
            )
        return found
    scopes = [(own, own)]
    scopes += [(dict(f.tb_frame.f_locals), f.tb_frame.f_globals) for f in frames]
    return scopes + [(variables, names) for _, variables, names in reversed(finished.returned)]


def _assigned(finished: _Finished, asked: Any) -> tuple[str | None, int | None]:
    """The last line of the script that assigns the variable or attribute asked for."""
    root = asked
    while isinstance(root, ast.Subscript):
        root = root.value
    word = (
        root.id
        if isinstance(root, ast.Name)
        else root.attr
        if isinstance(root, ast.Attribute)
        else None
    )
    file = finished.code.co_filename if finished.code is not None else None
    tree = tree_of(file) if file is not None else None
    lines = []
    for n in ast.walk(tree) if tree is not None else ():
        assigns = isinstance(n, (ast.Assign, ast.AnnAssign, ast.For))
        targets: list[Any] = getattr(n, "targets", None) or [n.target] if assigns else []  # type: ignore[attr-defined]
        for one in targets:
            for t in ast.walk(one):
                if (isinstance(t, ast.Name) and t.id == word) or (
                    isinstance(t, ast.Attribute) and t.attr == word
                ):
                    lines.append(t.lineno)
    return (file, max(lines)) if lines else (None, None)


def _models(finished: _Finished) -> Iterator[tuple[str, Any]]:
    """(name, module or optimizer) among the script's variables, in the attributes of its objects,
    and in its lists.
    """
    waiting = [
        (name, value, 0)
        for name, value in finished.module.__dict__.items()
        if not name.startswith("_")
    ]
    for _, variables, _ in finished.returned:
        waiting += [(name, value, 0) for name, value in variables.items()]
    seen: set[int] = set()
    for name, value, depth in waiting:  # which grows
        if isinstance(value, (type, ModuleType, Tensor)) or id(value) in seen or len(seen) > 10_000:
            continue
        seen.add(id(value))
        is_module = isinstance(getattr(value, "_modules", None), dict) and callable(
            getattr(value, "named_parameters", None)
        )
        if is_module or isinstance(getattr(value, "param_groups", None), list):
            yield name, value
        elif depth < 3:
            waiting += [(name + step, part, depth + 1) for step, part in members(value)]


def _parameters(value: Any) -> set[int]:
    """The `id`s of the parameters of a module or an optimizer."""
    if isinstance(getattr(value, "param_groups", None), list):
        return {id(p) for group in value.param_groups for p in group["params"]}
    return {id(p) for p in value.parameters()}


def _health(finished: _Finished, options: Any) -> Explanation:
    """How the modules and optimizers of the script are doing."""
    found: list[tuple[str, Explanation]] = []
    optimizers: list[tuple[str, Any]] = []
    modules: list[tuple[str, Any]] = []
    seen: set[int] = set()
    told: set[int] = set()
    for name, value in sorted(
        _models(finished), key=lambda item: isinstance(getattr(item[1], "param_groups", None), list)
    ):
        if id(value) not in seen:
            seen.add(id(value))
            own = _parameters(value)
            is_optimizer = isinstance(getattr(value, "param_groups", None), list)
            if is_optimizer:
                optimizers.append((name, value))
            else:
                modules.append((name, value))
            if own and own <= told:
                continue  # an optimizer of models that have been looked at
            told |= own
            found.append(
                (
                    name,
                    explain(
                        value,
                        options.question if options.question == "memory" else "gradient",
                        name=name,
                    ),
                )
            )
    if options.question != "memory" and all(e.cause == "none" for _, e in found):
        # Gradients are fine: is what has them updated?
        for name, value in optimizers:
            still = stands_still(value, name, _notes())
            found += [(name, still)] if still is not None else []
        for name, value in modules:
            held = [o for _, o in optimizers]
            loose = not_held(value, name, held, _notes()) or unregistered(
                value, name, held, _notes()
            )
            found += [(name, loose)] if loose is not None else []
    elif optimizers and (
        all(trains_others(o, _notes()) for _, o in optimizers)
        or all(e.cause == "none" for n, e in found if n in dict(modules))
    ):
        # What gets the gradients is not what is updated: the rest follows from that.
        for name, value in modules:
            loose = not_held(value, name, [o for _, o in optimizers], _notes())
            found[:0] = [(name, loose)] if loose is not None else []
    if not found:
        return _cannot(
            "the script ended without an exception, and there is no module or optimizer among its variables",
            "ask for a value: --expr NAME, or --in FUNCTION --expr NAME for a variable of a function",
        )
    worst = next((e for _, e in found if e.cause not in ("none", "memory")), None)
    evidence = [
        line
        for name, e in found
        for line in (f"{name}: {e.text}", *(f"  {fact}" for fact in e.evidence))
    ]
    if worst is None:
        return Explanation(
            found[0][1].cause,
            f"{', '.join(name for name, _ in found)}: nothing is wrong with the gradients"
            if options.question != "memory"
            else found[0][1].text,
            "`pellucid check` looks for mistakes that do not show in the gradients"
            if options.question != "memory"
            else "",
            None,
            evidence,
        )
    name = next(n for n, e in found if e is worst)
    return Explanation(worst.cause, f"{name}: {worst.text}", worst.fix, worst.where, evidence)


# ---- printing ------------------------------------------------------------------------------------
def _print(found: Explanation, options: Any) -> None:
    if options.format == "json":
        facts = found.as_dict()
        text = json.dumps(
            {
                name: facts[name]
                for name in ("cause", "file", "line", "cell", "text", "fix")
                if name in facts
            }
        )
    else:
        text = _as_text(found)
    if options.output is not None:
        Path(options.output).write_text(text + "\n", encoding="utf-8")
        return
    if options.format == "text" and sys.stdout.isatty():
        _print_rich(found)
        return
    print(text, flush=True)


def _as_text(found: Explanation) -> str:
    lines = [f"cause: {found.cause}", found.text, *(f"  - {fact}" for fact in found.evidence)]
    if found.file is not None:
        where = Line(found.file, found.line or 0, "", _source_line(found))
        lines.append(f"where: {where}")
    if found.fix:
        lines.append(f"fix: {found.fix}")
    return "\n".join(lines)


def _source_line(found: Explanation) -> str:
    import linecache

    return linecache.getline(found.file or "", found.line or 0).strip()


def _print_rich(found: Explanation) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console(highlight=False)
    console.print(f"[bold]{escape(found.cause)}[/bold]  {escape(found.text)}")
    for fact in found.evidence:
        console.print(f"  [dim]-[/dim] {escape(fact)}")
    if found.file is not None:
        # A place stays in one piece: editors and terminals open it.
        console.print(
            f"[cyan]{escape(place(found.file, found.line or 0))}[/cyan]  {escape(_source_line(found))}",
            soft_wrap=True,
        )
    if found.fix:
        console.print(f"[green]fix:[/green] {escape(found.fix)}")
