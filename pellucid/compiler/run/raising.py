"""Errors for values that an operation rejects: the same as in eager execution, with the line of the
operation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from ...core.bind import wrap
from ...core.explain import explained
from ...dtypes import BY_NUMPY
from ...errors import Facts, Operand, add, facts_of
from ...ir import Instruction, Value, ValueRef
from ..trace.arrays import numpy_dtype


def placed(error: Exception, i: Instruction) -> Exception:
    """Add an instruction's line, operation and operands to an error, in place of those of the
    compiled call.
    """
    known = facts_of(error)
    if known is not None:
        noted, known.noted = known.noted, None
        known.source = i.site
        if i.noted is not None:
            known.add(op=i.noted.op, operands=i.noted.operands, notes=i.noted.notes)
        elif i.kind == "op":
            known.add(op=i.op, operands=_operands(i))
        add(error, hint=_hint(str(error), known) if noted is None else noted.hint)
    return error


def _hint(sentence: str, known: Facts) -> str | None:
    """The hint for an error. Eager execution finds it from the frames of the failing call; here it
    is found from shapes and dtypes alone.
    """
    from ...api.messages.hints import Case, advise  # imported at the first error

    try:
        kinds = {kind: array for array, kind in BY_NUMPY.items()}
        tensors = {
            o.name: wrap(np.broadcast_to(np.empty((), kinds[o.dtype]), tuple(o.shape)))  # type: ignore[index, arg-type]
            for o in known.operands
        }
        return advise(Case(tensors, None, sentence, known.op or "", {}))
    except Exception:  # a failure here must not replace the error itself
        return None


def _operands(i: Instruction) -> list[Operand]:
    """The tensors that an operation reads."""
    args = i.record.args
    named = [(args[min(k, len(args) - 1)], v) for k, v in enumerate(i.inputs)]
    named += [(name, v.value) for name, v in i.params.items() if isinstance(v, ValueRef)]
    return [
        Operand(name, v.shape, BY_NUMPY.get(numpy_dtype(v.dtype)))
        for name, v in named
        if isinstance(v, Value)
    ]


def raised(
    error: Exception, i: Instruction, arrays: list[Any], params: dict[str, Any]
) -> Exception:
    """The error that eager execution raises if an operation's array function raises `error`."""
    op = i.record
    if facts_of(error) is None:
        try:
            if op.check is not None:
                op.check(*arrays, **params)
            error = explained(
                error, op, [wrap(a) if type(a) is ndarray else a for a in arrays], arrays, params
            )
        except Exception as other:
            error = other
    if facts_of(error) is not None:
        placed(error, i)
        names = [op.args[min(k, len(op.args) - 1)] for k in range(len(arrays))]
        shown = [
            Operand(n, a.shape, BY_NUMPY.get(a.dtype))
            for n, a in zip(names, arrays, strict=True)
            if type(a) is ndarray
        ]
        add(error, op=op.name, operands=shown)
    return error
