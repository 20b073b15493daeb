"""Values that are read into Python while a step is traced, and the decisions that depend on them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from ...core import bind
from ...core.primitive import Primitive
from ...core.tensor import Tensor, make_tensor
from ...ir import Instruction, Value
from .numbers import is_read, read
from .recording import NumberInput, Recording
from .refusal import refusal_of


class LaterNumber:
    """Stands in place of a value: a number of the call that is only known after the program, given
    by its position.
    """

    def __init__(self, position: int) -> None:
        self.position = position
        self.buffer = self  # a key that no program contains


class ControlFlow(Recording):
    """The part of a tracer that creates watched numbers and records what they decide."""

    def read(self, t: Tensor, how: str) -> None:
        """A value is read into Python."""
        if self.inside is not None and id(t) not in self.inside.free:
            self.inside.touched = True
        if not self.recording:
            return
        if how == "bool" and t._array.size == 1:
            try:
                outcome = bool(t._array.item())
                self.decide((self.term(t._array),), lambda values: bool(values[0]) is outcome)
            except Exception as error:
                self.refused(refusal_of(error))
            return
        if how in ("int", "float", "complex") and type(t) is Tensor:
            return  # they call item(), which returns a watched number
        if how == "index" and t._array.size == 1:
            try:
                place = t._array.item()
                self.decide((self.term(t._array),), lambda values: values[0] == place)
            except Exception as error:
                self.refused(refusal_of(error))
            return
        words = {"numpy": "as a NumPy array", "bool": "to decide something", "tolist": "as a list"}
        self.refuse(f"the step reads a tensor's value {words.get(how, 'by ' + how + '()')}")

    def number_read(self, value: Any, tensor: Tensor) -> Any:
        """`item()` was called: the number to return, watched."""
        if not self.recording or self.witness is not None and self.witness.impure:
            return value
        try:
            term = self.term(tensor._array)
        except Exception as error:
            self.refused(refusal_of(error))
            return value
        if term[0].buffer.kind == "constant":
            return value
        if type(value) is bool:
            self.decide((term,), lambda values: values[0] is value)
            return value
        made = read(value, self, term)
        if made is None:
            self.refuse("the step reads a tensor's value as a number")
            return value
        return made.observe() if self.compares_types() else made

    def number_given(self, value: Any) -> Any:
        """A watched number for one among the arguments that may differ at each call."""
        array = np.asarray(value, np.int64 if type(value) is int else np.float64)
        place = self.declare(array, "input", f"n{self.count}")
        self.given[place.buffer] = k = self.count
        self.count += 1
        self.computed.append(NumberInput(place.buffer, lambda values: values[0], [k], array.dtype))
        return read(value, self, (place, None))

    def number_later(self, value: Any) -> Any:
        """A watched number that is known only after the program has run."""
        self.count += 1
        return read(value, self, (LaterNumber(self.count - 1), None))

    def operand(self, op: Primitive, number: Any, kind: Any) -> Any:
        """A number that an operation combines with tensors. If it depends on numbers of the call,
        it becomes an input of the program.
        """
        if not is_read(number):
            return number
        # Operations on two-byte floats may treat a number differently from a tensor.
        if (
            number.tracer is not self
            or not self.recording
            or not number.given
            or self.phase == "backward"
            or kind.itemsize == 2
            or op.numbers == "given"
            and abs(number.plain) == 0.5  # the exponent of a root
        ):
            return number.observe()
        known = self._operands.get((id(number), kind))
        if known is None or known[0]() is not number:  # ids are reused
            array = np.asarray(bind.number_array(op, number.plain, kind), kind)
            place = self.declare(array, "input", f"n{len(self.computed)}")
            positions = [self.given[v.buffer] for v, _ in number.terms]
            self.computed.append(NumberInput(place.buffer, number.compute, positions, array.dtype))
            if op.numbers == "given":
                compute = number.compute
                self.may_fail(number, lambda values: 1 / (abs(compute(values)) - 0.5))
            known = self._operands[id(number), kind] = weakref.ref(number), make_tensor(array)
        return known[1]

    def may_fail(self, number: Any, compute: Callable[[list[Any]], Any] | None = None) -> None:
        """Note a computation on the call's numbers (by default, that of `number`) that may fail for
        other numbers.
        """
        self.partial.append(
            (compute or number.compute, [self.given[place.buffer] for place, _ in number.terms])
        )

    def term(self, array: ndarray) -> tuple[Value, Any]:
        """A value that is read now, with the last instruction that stored to its memory."""
        place = self.value(array, "item()")
        touched = (
            i
            for i in reversed(self.program.instructions)
            if any(v.buffer is place.buffer for v in i.made())
        )
        return place, next(touched, None)

    def give(self, number: Any) -> None:
        """A watched number was created."""
        self.numbers.append(weakref.ref(number))

    def living_numbers(self) -> list[Any]:
        """The watched numbers that are still referenced."""
        return [n for n in (ref() for ref in self.numbers) if n is not None]

    def decide(
        self, terms: tuple[tuple[Value, Any], ...], holds: Callable[[list[Any]], bool]
    ) -> None:
        """Record that what follows depends on values: `holds` tells whether it also holds for other
        values.

        The program checks this as soon as the values are available, before it does more that a
        differing call would have to undo.
        """
        if not self.recording:
            return
        if any(isinstance(place, LaterNumber) for place, _ in terms):
            self.refuse("the step computes or decides with a number that it sets after its program")
            return
        early = all(place.buffer in self.given for place, _ in terms)
        if self.whole and not early:
            self.refuse("the step reads a tensor's value to decide something")
            return
        if self.phase == "backward" and not early:
            self.refuse("the backward of the step decides with a tensor's value")
            return
        instructions = self.program.instructions
        place = max(
            (instructions.index(after) + 1 for _, after in terms if after is not None), default=0
        )
        self.program.add(
            "decide", tuple(v for v, _ in terms), (), kind="decide", record=holds, site=self.site()
        )
        question = instructions.pop()
        update = next(
            (k for k, i in enumerate(instructions[:place]) if i.op == "_update_group"), None
        )
        ahead = None if update is None else self._ahead(question, update, place)
        if ahead is not None:
            rest = [i for i in instructions[update:] if i not in ahead]
            instructions[update:] = [*ahead, question, *rest]
        else:
            instructions.insert(place, question)

    def _ahead(self, question: Instruction, start: int, end: int) -> list[Instruction] | None:
        """The instructions between two positions that a decision needs, if all of them can move to
        the first position; otherwise None.
        """
        between = self.program.instructions[start:end]
        wanted = {v.buffer for v in question.reads()}
        found: list[Instruction] = []
        for i in reversed(between):
            if any(v.buffer in wanted for v in i.made()):
                if i.kind != "op" or i.writes or i.hands_on or len(found) == 8:
                    return None
                found.append(i)
                wanted |= {v.buffer for v in i.reads()}
        made = {v.buffer for i in found for v in i.outputs}
        others = {v.buffer for i in between if i not in found for v in i.made()}
        return None if others & (wanted | made) else found[::-1]
