"""The schemas of aten, and what operators say to wrong arguments, beside PyTorch's."""

import pytest

import pellucid as torch
from pellucid.aten import schema

oracle = pytest.importorskip("torch")


def _facts(argument):
    return (
        argument.name,
        str(argument.type),
        argument.default_value,
        argument.N,
        argument.kwarg_only,
        argument.is_out,
        argument.has_default_value(),
        argument.is_write,
    )


def test_every_schema():
    for name, overloads in schema.aten().items():
        order = oracle._C._jit_get_operation(f"aten::{name}")[1]
        order = [o for o in order if "..." not in str(oracle._C._get_schema(f"aten::{name}", o))]
        assert [o or "default" for o in order] == list(overloads)
        for overload, (_, text) in overloads.items():
            wanted = oracle._C._get_schema(
                f"aten::{name}", "" if overload == "default" else overload
            )
            got = schema.FunctionSchema(f"aten::{text}")
            assert str(got) == str(wanted)
            assert list(map(_facts, got.arguments)) == list(map(_facts, wanted.arguments)), text
            assert [(r.name, str(r.type)) for r in got.returns] == [
                (r.name, str(r.type)) for r in wanted.returns
            ]
            assert got.is_mutable == wanted.is_mutable


@pytest.mark.parametrize(
    "name",
    [
        "add.Tensor",
        "mm",
        "nonzero",
        "add_.Tensor",
        "sum.dim_IntList",
        "t",
        "add.out",
        "bernoulli",
        "view",
    ],
)
def test_what_is_known_of_an_operator(name):
    def facts(module):
        packet, _, overload = name.partition(".")
        op = getattr(getattr(module.ops.aten, packet), overload or "default")
        said = (
            str(op),
            repr(op),
            op.name(),
            op.namespace,
            op._overloadname,
            op.__name__,
            op.__module__,
            op.is_view,
            op._opname,
        )
        return (
            *said,
            [repr(t) for t in op.tags],
            repr(op.overloadpacket),
            op.overloadpacket.overloads(),
        )

    assert facts(torch) == facts(oracle)


CALLS = {
    "missing": lambda m, x: m.ops.aten.add.Tensor(x),
    "too many": lambda m, x: m.ops.aten.mul.Tensor(x, x, x),
    "unknown": lambda m, x: m.ops.aten.add.Tensor(x, x, beta=3),
    "type": lambda m, x: m.ops.aten.sum.dim_IntList(x, "a"),
    "number": lambda m, x: m.ops.aten.add.Scalar(x, "a"),
    "packet": lambda m, x: m.ops.aten.relu(3),
    "packet without": lambda m, x: m.ops.aten.relu(),
    "packet with": lambda m, x: m.ops.aten.relu(x, y=1),
    "one overload": lambda m, x: m.ops.aten.is_leaf(3),
    "one overload without": lambda m, x: m.ops.aten.is_leaf(),
    "one overload with": lambda m, x: m.ops.aten.is_leaf(x, y=1),
    "name of another type": lambda m, x: m.ops.profiler._record_function_enter_new(3),
    "name": lambda m, x: m.ops.aten.nothing,
    "overload": lambda m, x: m.ops.aten.add.Nothing,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_refusals(call):
    def said(module):
        with pytest.raises((RuntimeError, AttributeError)) as caught:
            call(module, module.ones(2))
        return type(caught.value), str(caught.value).replace("pellucid", "torch")

    assert said(torch) == said(oracle)
