"""Gradients of operators, written with operators. Backward calls them when a mode or a tensor
type intercepts operators.

A rule has the operator's name, with the overload's after two underscores. Its parameters: `A`, the
operators of aten; `g`, the gradient of the result (a tuple for several); `c`, which tells what is
needed (`c.needs("self")`) and hands out results that the rule keeps (`c.out()`); and arguments by
their names in the schema. It returns functions for the arguments' gradients, by name; they are
called in that order. Operators without a rule here have that of their record (`core.primitive`).

Source: the formulas are those of PyTorch's autograd, `tools/autograd/derivatives.yaml` there names
them.
"""

from . import elements, layers, products, reductions, views
