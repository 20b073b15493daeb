"""A complete reverse-mode autograd engine for single numbers. It uses nothing else of this package.

A `Value` is a number that remembers how it was computed: from which Values (`_prev`), by which
operation (`_op`), and how to pass a gradient back to them (`_backward`). So arithmetic on Values
builds a graph while it computes. `backward()` walks the graph once, from the result to the inputs,
and leaves the derivative of the result in the `grad` of every Value.

>>> x, y = Value(2.0), Value(3.0)
>>> f = (x + y) * x
>>> f.backward()
>>> f.data, x.grad, y.grad
(10.0, 7.0, 2.0)

There are three ideas, and each has its place below: every operation knows its own derivatives
(`__mul__` and its neighbours), the chain rule multiplies along a path (`_backward` is given the
gradient of its result), and the paths that lead to one Value are added up (`backward`). `Neuron`,
`Layer` and `MLP` at the end show that nothing more is needed to train a network.

After micrograd (A. Karpathy, 2020); the method is that of S. Linnainmaa (1970).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from numbers import Real
from operator import truediv

__all__ = ["MLP", "Layer", "Module", "Neuron", "Value"]

# Given the gradient of a result: one gradient for each Value that it was made from.
Backward = Callable[[float], tuple[float, ...]]


def _with_numbers(
    method: Callable[[Value, Value], Value],
) -> Callable[[Value, Value | float], Value]:
    """Arithmetic also with plain numbers, which become leaves. About anything else Python asks the
    other operand.
    """

    @wraps(method)
    def operator(self: Value, other: Value | float) -> Value:
        if isinstance(other, Value):
            return method(self, other)
        return method(self, Value(other)) if isinstance(other, Real) else NotImplemented

    return operator


class Value:
    """A number in a graph.

    Attributes: `data`, the number; `grad`, the derivative of what `backward()` was called on with
    respect to this Value, summed over calls; `label`, a name for drawings.

    Raises:
        TypeError: the number is not a real number.

    >>> Value(2, label="x")
    Value(data=2.0, grad=0.0, label='x')
    """

    __slots__ = ("__weakref__", "_backward", "_op", "_prev", "data", "grad", "label")
    # so that NumPy's numbers, too, leave arithmetic with a Value to the Value
    __array_ufunc__ = None

    def __init__(self, data: Real | float, label: str = "") -> None:
        if not isinstance(data, Real):
            raise TypeError(f"a Value holds one real number, not {type(data).__name__}")
        self.data = float(data)
        self.grad = 0.0
        self.label = label
        # in order, and twice where a Value was used twice: x * x
        self._prev: tuple[Value, ...] = ()
        self._op = ""
        self._backward: Backward = _nothing

    def __repr__(self) -> str:
        label = f", label={self.label!r}" if self.label else ""
        return f"Value(data={self.data}, grad={self.grad}{label})"

    # ---- operations: a number, and how a gradient g of it becomes gradients of what it was made from ----
    # The closures keep the numbers that were used (a, b, out), so that changing `data` later does not change the past.

    @_with_numbers
    def __add__(self, other: Value) -> Value:
        return _result(self.data + other.data, (self, other), "+", lambda g: (g, g))

    @_with_numbers
    def __mul__(self, other: Value) -> Value:
        a, b = self.data, other.data
        return _result(a * b, (self, other), "*", lambda g: (g * b, g * a))

    @_with_numbers
    def __sub__(self, other: Value) -> Value:
        return _result(self.data - other.data, (self, other), "-", lambda g: (g, -g))

    @_with_numbers
    def __truediv__(self, other: Value) -> Value:
        a, b = self.data, other.data
        return _result(
            _compute("/", truediv, a, b), (self, other), "/", lambda g: (g / b, -g * (a / b) / b)
        )

    def __pow__(self, other: Value | float) -> Value:
        """`x ** 3` with a number, which has no derivative of its own, or `x ** y` with a Value."""
        if isinstance(other, Real):
            a, n = self.data, float(other)
            out = _compute("**", math.pow, a, n)
            return _result(
                out, (self,), f"**{n:g}", lambda g: (g * n * math.pow(a, n - 1) if n else 0.0,)
            )
        if not isinstance(other, Value):
            return NotImplemented
        a, b = self.data, other.data
        out = _compute("**", math.pow, a, b)

        def backward(g: float) -> tuple[float, float]:
            # d a**b / db = a**b log(a), whose limit for a to 0 is 0
            return g * b * math.pow(a, b - 1) if b else 0.0, g * out * math.log(a) if a else 0.0

        return _result(out, (self, other), "**", backward)

    def exp(self) -> Value:
        """e to this power."""
        out = _compute("exp", math.exp, self.data)
        return _result(out, (self,), "exp", lambda g: (g * out,))

    def log(self) -> Value:
        """Natural logarithm."""
        a = self.data
        return _result(_compute("log", math.log, a), (self,), "log", lambda g: (g / a,))

    def sqrt(self) -> Value:
        """Square root."""
        out = _compute("sqrt", math.sqrt, self.data)
        return _result(out, (self,), "sqrt", lambda g: (g / (2 * out),))

    def sin(self) -> Value:
        """Sine of an angle in radians."""
        a = self.data
        return _result(_compute("sin", math.sin, a), (self,), "sin", lambda g: (g * math.cos(a),))

    def cos(self) -> Value:
        """Cosine of an angle in radians."""
        a = self.data
        return _result(_compute("cos", math.cos, a), (self,), "cos", lambda g: (-g * math.sin(a),))

    def tanh(self) -> Value:
        """Hyperbolic tangent."""
        out = math.tanh(self.data)
        return _result(out, (self,), "tanh", lambda g: (g * (1 - out * out),))

    def sigmoid(self) -> Value:
        """1 / (1 + exp(-x)), computed so that exp cannot overflow."""
        e = math.exp(-abs(self.data))
        out = (1.0 if self.data >= 0 else e) / (1 + e)
        return _result(out, (self,), "sigmoid", lambda g: (g * e / (1 + e) ** 2,))

    def relu(self) -> Value:
        """The number if it is positive, else 0, where the derivative is 0 too."""
        a = self.data
        return _result(0.0 if a <= 0 else a, (self,), "relu", lambda g: (0.0 if a <= 0 else g,))

    def __abs__(self) -> Value:
        a = self.data
        return _result(abs(a), (self,), "abs", lambda g: (g if a > 0 else -g if a < 0 else 0.0,))

    def __neg__(self) -> Value:
        return _result(-self.data, (self,), "neg", lambda g: (-g,))

    def __pos__(self) -> Value:
        return self

    # ---- the same with a number on the left: 2 - x
    __radd__, __rmul__ = __add__, __mul__

    @_with_numbers
    def __rsub__(self, other: Value) -> Value:
        return other - self

    @_with_numbers
    def __rtruediv__(self, other: Value) -> Value:
        return other / self

    @_with_numbers
    def __rpow__(self, other: Value) -> Value:
        return other**self

    # ---- comparisons are of the numbers; as a key of a dict or member of a set, a Value is itself and no other
    def __eq__(self, other: object) -> bool:
        return self.data == (other.data if isinstance(other, Value) else other)

    __hash__ = object.__hash__

    def __lt__(self, other: Value | float) -> bool:
        return self.data < (other.data if isinstance(other, Value) else other)

    def __le__(self, other: Value | float) -> bool:
        return self.data <= (other.data if isinstance(other, Value) else other)

    def __gt__(self, other: Value | float) -> bool:
        return self.data > (other.data if isinstance(other, Value) else other)

    def __ge__(self, other: Value | float) -> bool:
        return self.data >= (other.data if isinstance(other, Value) else other)

    def __bool__(self) -> bool:
        return self.data != 0

    # ---- backward ----
    def topological_order(self) -> list[Value]:
        """Every Value that this one depends on, each once, and each after all that it was made
        from; this one last.

        >>> x = Value(3.0)
        >>> [v._op or "leaf" for v in (x * x + 1).topological_order()]
        ['leaf', 'leaf', '*', '+']
        """
        order: list[Value] = []
        seen: set[Value] = set()
        # a stack of our own: Python's would overflow at a graph 1,000 deep
        waiting = [(self, False)]
        while waiting:
            value, inputs_done = waiting.pop()
            if inputs_done:
                order.append(value)
            elif value not in seen:
                seen.add(value)
                waiting.append((value, True))
                waiting.extend((v, False) for v in value._prev)
        return order

    def backward(self) -> None:
        """Add to the `grad` of every Value in the graph the derivative of this one with respect to
        it.

        Raises:
            ZeroDivisionError, ValueError, OverflowError: an operation has no finite derivative
                where it was computed; then every `grad` is as it was.

        >>> x = Value(3.0)
        >>> (x * x).backward()
        >>> x.grad  # two paths, 3.0 along each
        6.0
        """
        gradients = {self: 1.0}  # d self / d self
        # From the result back: when a Value's turn comes, all that was made from it has been, so
        # its gradient is complete.
        for value in reversed(self.topological_order()):
            try:
                parts = value._backward(gradients[value])
            except (ArithmeticError, ValueError) as error:
                at = ", ".join(repr(v.data) for v in value._prev)
                raise type(error)(f"the derivative of {value._op} at {at}: {error}") from None
            for v, part in zip(value._prev, parts):
                gradients[v] = gradients.get(v, 0.0) + part  # a sum: another path may have led here
        for value, gradient in gradients.items():
            value.grad += gradient  # a sum again: over all calls, until somebody sets it to 0


def _nothing(g: float) -> tuple[float, ...]:
    """A leaf passes its gradient on to nobody."""
    return ()


def _result(data: float, inputs: tuple[Value, ...], op: str, backward: Backward) -> Value:
    out = Value(data)
    out._prev, out._op, out._backward = inputs, op, backward
    return out


def _compute(op: str, function: Callable[..., float], *numbers: float) -> float:
    """The function's result; its errors with the numbers that led to them."""
    try:
        return function(*numbers)
    except (ArithmeticError, ValueError) as error:
        raise type(error)(f"{op} of {' and '.join(map(repr, numbers))}: {error}") from None


# ---- a network -----------------------------------------------------------------------------------
class Module:
    """Something with parameters."""

    def parameters(self) -> list[Value]:
        """The Values to train."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its parameters are")

    def zero_grad(self) -> None:
        """Forget the gradients of earlier steps, to which `backward()` would add."""
        for p in self.parameters():
            p.grad = 0.0


class Neuron(Module):
    """activation(w[0] x[0] + w[1] x[1] + ... + b).

    Args:
        nin: number of inputs.
        activation: name of a method of Value ("tanh", "relu", "sigmoid"), or None.
        rng: where the weights come from, uniformly between -1 and 1 over the root of `nin`; the
            bias starts at 0.

    >>> neuron = Neuron(2, activation=None)
    >>> neuron.w = [Value(2.0), Value(-1.0)]
    >>> neuron([3.0, 1.0]).data
    5.0
    """

    def __init__(
        self, nin: int, activation: str | None = "tanh", rng: random.Random | None = None
    ) -> None:
        draw = (rng or random).uniform
        bound = 1 / math.sqrt(nin)
        self.w = [Value(draw(-bound, bound), label=f"w{i}") for i in range(nin)]
        self.b = Value(0.0, label="b")
        self.activation = activation

    def __call__(self, x: Sequence[Value | float]) -> Value:
        """Raises ValueError when there are not as many inputs as weights."""
        if len(x) != len(self.w):
            raise ValueError(f"a neuron with {len(self.w)} inputs got {len(x)}")
        total = sum((w * v for w, v in zip(self.w, x)), self.b)
        return total if self.activation is None else getattr(total, self.activation)()

    def parameters(self) -> list[Value]:
        return [*self.w, self.b]

    def __repr__(self) -> str:
        return f"Neuron({len(self.w)}, activation={self.activation!r})"


class Layer(Module):
    """`nout` neurons that see the same `nin` inputs.

    >>> len(Layer(3, 4).parameters())
    16
    """

    def __init__(
        self, nin: int, nout: int, activation: str | None = "tanh", rng: random.Random | None = None
    ) -> None:
        self.neurons = [Neuron(nin, activation, rng) for _ in range(nout)]

    def __call__(self, x: Sequence[Value | float]) -> list[Value]:
        return [neuron(x) for neuron in self.neurons]

    def parameters(self) -> list[Value]:
        return [p for neuron in self.neurons for p in neuron.parameters()]

    def __iter__(self) -> Iterator[Neuron]:
        return iter(self.neurons)

    def __repr__(self) -> str:
        return f"Layer({', '.join(map(repr, self.neurons))})"


class MLP(Module):
    """Layers one after the other; the last one has no activation. A single output comes as a Value,
    several as a list.

    >>> model = MLP(2, [4, 1], rng=random.Random(1))
    >>> xs, ys = [(0, 0), (0, 1), (1, 0), (1, 1)], [0, 1, 1, 0]
    >>> for step in range(150):
    ...     loss = sum((model(x) - y) ** 2 for x, y in zip(xs, ys))
    ...     model.zero_grad()
    ...     loss.backward()
    ...     for p in model.parameters():
    ...         p.data -= 0.1 * p.grad
    >>> [round(model(x).data) for x in xs]
    [0, 1, 1, 0]
    """

    def __init__(
        self,
        nin: int,
        nouts: Sequence[int],
        activation: str | None = "tanh",
        rng: random.Random | None = None,
    ) -> None:
        sizes = [nin, *nouts]
        last = len(nouts) - 1
        self.layers = [
            Layer(a, b, None if i == last else activation, rng)
            for i, (a, b) in enumerate(zip(sizes, nouts))
        ]

    def __call__(self, x: Sequence[Value | float]) -> Value | list[Value]:
        out = self.layers[0](x)
        for layer in self.layers[1:]:
            out = layer(out)
        return out[0] if len(out) == 1 else out

    def parameters(self) -> list[Value]:
        return [p for layer in self.layers for p in layer.parameters()]

    def __repr__(self) -> str:
        return f"MLP({', '.join(map(repr, self.layers))})"
