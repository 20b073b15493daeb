"""Results that a statement drops, of operations that leave their tensor as it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from ...events import Op, Saved, Site
from ...recording.expressions import position
from ...rule import Rule
from ..source.places import Place, tree, walk

_CHANGES = frozenset(
    "masked_fill masked_scatter clamp clamp_min clamp_max clip squeeze unsqueeze view reshape "
    "transpose permute t flatten detach to float double half long int cuda cpu scatter scatter_add "
    "index_fill index_add index_copy index_put normalize dropout".split()
)
_ARITHMETIC = frozenset("add sub mul div lerp addcmul addcdiv copysign".split())
_LIKE_INPLACE = _CHANGES - frozenset(
    "view reshape permute flatten to float double half long int cuda cpu normalize dropout".split()
)


class ResultDropped(Rule):
    """`scores.masked_fill(mask, -inf)` as a statement: the new tensor is dropped."""

    slug = "result-dropped"
    id = "PL608"
    severity = "error"
    summary = "a result is discarded: the new tensor that a statement creates, or the best weights of a run"
    covered = ("similarity-wrong", "mask-without-effect")
    ops = tuple(sorted(_CHANGES | _ARITHMETIC))

    def __init__(self) -> None:
        self._seen: set[Site] = set()
        self._statements: dict[str, set[tuple[int, int, int, int]]] = {}  # by file: calls

    def on_saved(self, event: Saved) -> None:
        """`model.state_dict().update(...)`: the dictionary is new at each call, and dropped."""
        site = event.site
        found = _STATES.match(site.text) if site is not None and site not in self._seen else None
        if site is None or found is None:
            return
        self._seen.add(site)
        self.report(
            site,
            f"`state_dict()` returns a new dictionary, and this statement only changes that dictionary: the weights of `{found[2]}` do not change.",
            evidence={"operation": "state_dict", "tensor": found[2]},
            fix=f"`{found[2]}.load_state_dict(...)`",
        )

    def finish(self) -> None:
        """The best weights of a run are kept, and the last ones used."""
        for file in self.session.recorder.files(self.session.script) if self.step else ():
            root = tree(file)
            for line, name in _kept_for_nothing(root) if root is not None else ():
                self.report(
                    Place(file, line),
                    f"`{name}` keeps the best weights, but nothing reads it: the code that follows uses the weights of the last epoch.",
                    evidence={"name": name},
                    fix=f"`model.load_state_dict({name})` after the loop",
                )

    def on_op(self, op: Op) -> None:
        """An operation of the user's own line: is it the whole statement?"""
        site = op.site
        if site is None or site in self._seen or not op.direct or op.inplace or not op.inputs:
            return
        self._seen.add(site)
        out, given = op.output, op.inputs[0]
        if out is None or op.args.get("out") is not None or out.id == given.id:
            return
        if out.shape == given.shape and out.dtype == given.dtype and op.name in _VIEWS:
            return  # it would change nothing
        statements = self._statements.get(site.file)
        if statements is None:
            statements = self._statements[site.file] = _calls(site.file)
        if position(site.code, site.lasti) not in statements:
            return
        call = site.call
        whose = call.receiver if call is not None else None
        if op.name in _ARITHMETIC:
            if not op.method or whose is None:
                return
            state = not op.grad_enabled or whose.endswith((".data", ".grad"))
            if not state and not out.requires_grad:
                return  # as it is done to measure time
        if not op.method:
            whose = op.written("input")
        if whose is None or not whose.replace(".", "").replace("_", "").isalnum():
            return  # a tensor that nobody could look at again
        fix, inplace = f"keep the result: `{whose} = ...`", f"`{whose}.{op.name}_(...)`"
        if op.name in _LIKE_INPLACE | _ARITHMETIC:
            leaf = given.is_leaf and given.requires_grad or whose.endswith((".data", ".grad"))
            fix = f"write in place: {inplace}" if leaf else f"{fix}, or {inplace}"
        self.report(
            site,
            f"`{op.name}` returns a new tensor and leaves `{whose}` unchanged. This statement discards the new tensor.",
            evidence={"operation": op.name, "tensor": whose},
            fix=fix,
            covers=[given.producer.site] if given.producer is not None else [],
        )


def _kept_for_nothing(root: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, name) of the best state of a run that a function keeps and nobody reads."""
    for scope in (n for n in walk(root) if isinstance(n, (ast.FunctionDef, ast.Module))):
        own: list[ast.AST] = []
        waiting: list[ast.AST] = list(scope.body)
        while waiting:
            node = waiting.pop()
            own.append(node)
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                waiting += ast.iter_child_nodes(node)
        read = {
            n.id for n in ast.walk(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }
        shared = {
            name for n in own if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names
        }
        for node in own:
            if not isinstance(node, ast.If):
                continue
            for kept in (
                n for part in node.body for n in ast.walk(part) if isinstance(n, ast.Assign)
            ):
                target = kept.targets[0]
                if (
                    isinstance(target, ast.Name)
                    and target.id not in read | shared
                    and _COPIES.match(ast.unparse(kept.value))
                    and any(
                        isinstance(n, (ast.For, ast.While)) and any(i is node for i in ast.walk(n))
                        for n in own
                    )
                ):
                    yield kept.lineno, target.id


_COPIES = re.compile(
    r"(copy\.)?deepcopy\([\w.]*(model|net|state_dict\(\))\)?\)?$|\{k.*\.state_dict\(\)\.items\(\)\}$|\{\w+: \w+.*state_dict\(\)\.items\(\)\}$"
)
_STATES = re.compile(r"(^|[^\w.])([\w.]+)\.state_dict\(\)(\.update\(|\[[^\]]+\] = )")
_VIEWS = frozenset("view reshape squeeze unsqueeze transpose permute t flatten to detach".split())


def _calls(file: str) -> set[tuple[int, int, int, int]]:
    """Where calls stand that are whole statements, without those that only try something out."""
    found: set[tuple[int, int, int, int]] = set()
    waiting: list[Any] = [tree(file)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Try) and node.handlers:
            waiting += [n for h in node.handlers for n in h.body]
            continue
        if isinstance(node, ast.With) and "raises" in ast.unparse(node.items[0]):
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            at = node.value
            found.add((at.lineno, at.col_offset, at.end_lineno or 0, at.end_col_offset or 0))
        waiting += [] if node is None else list(ast.iter_child_nodes(node))
    return found
