"""Operators as objects: names, schemas, the choice among overloads, and what they compute."""

import copy
import pickle

import pytest

import pellucid as torch
from pellucid.aten.schema import parse

aten = torch.ops.aten


def test_names_and_printing():
    add = aten.add
    assert str(add) == "aten.add" and repr(add) == "<OpOverloadPacket(op='aten.add')>"
    assert (
        repr(add.Tensor) == "<OpOverload(op='aten.add', overload='Tensor')>"
        and str(add.Tensor) == "aten.add.Tensor"
    )
    assert (
        add.Tensor.name() == "aten::add.Tensor"
        and add.Tensor.namespace == "aten"
        and add.Tensor._overloadname == "Tensor"
    )
    assert (
        add.Tensor.overloadpacket is add
        and add.__name__ == "add"
        and add.Tensor.__name__ == "add.Tensor"
    )
    assert add.overloads()[:4] == ["Tensor", "Scalar", "out", "Scalar_out"]
    assert (
        aten.relu.default.name() == "aten::relu"
        and repr(aten) == "<module 'torch.ops.aten' from 'torch.ops'>"
    )
    assert {add.Tensor: 1}[aten.add.Tensor] == 1


def test_overloads_are_the_same_objects():
    assert (
        aten.mm.default is torch.ops.aten.mm.default
        and copy.deepcopy(aten.mm.default) is aten.mm.default
    )
    assert (
        pickle.loads(pickle.dumps(aten.mm.default)) is aten.mm.default
        and pickle.loads(pickle.dumps(aten.mm)) is aten.mm
    )


def test_schema():
    schema = aten.sum.dim_IntList._schema
    assert (
        str(schema)
        == "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
    )
    dim = schema.arguments[1]
    assert (dim.name, str(dim.type), dim.N, dim.has_default_value()) == (
        "dim",
        "Optional[List[int]]",
        1,
        False,
    )
    assert (
        schema.arguments[3].kwarg_only
        and schema.name == "aten::sum"
        and schema.overload_name == "dim_IntList"
    )
    assert aten.add.out._schema.is_mutable and aten.add.out._schema.arguments[-1].is_out
    assert [str(r.type) for r in aten.max.dim._schema.returns] == ["Tensor", "Tensor"]
    assert aten.t.default.is_view and not aten.add.Tensor.is_view and not aten.add_.Tensor.is_view


def test_derived_schemas():
    assert (
        str(aten.add_.Tensor._schema)
        == "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
    )
    assert (
        str(aten.zeros.out._schema)
        == "aten::zeros.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)"
    )


def test_parsed_schema_of_a_program():
    schema = parse(
        'mine::f(Tensor x, int[2] y=1, str z="a", *, float q=1, Tensor(a!)? out=None) -> (Tensor u, Tensor[] v)'
    )
    assert [a.default_value for a in schema.arguments] == [None, [1, 1], "a", 1.0, None]
    assert [(r.name, str(r.type)) for r in schema.returns] == [
        ("u", "Tensor"),
        ("v", "List[Tensor]"),
    ]
    assert schema.is_mutable
    with pytest.raises(RuntimeError):
        parse("mine::f")


def test_tags():
    assert torch.Tag.pointwise in aten.add.Tensor.tags and torch.Tag.core in aten.mm.default.tags
    assert torch.Tag.data_dependent_output in aten._local_scalar_dense.default.tags
    assert torch.Tag.dynamic_output_shape in aten.nonzero.default.tags
    assert repr(torch.Tag.core) == "<Tag.core: 0>"


def test_calls():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.equal(aten.add.Tensor(x, x, alpha=2), 3 * x)
    assert torch.equal(aten.add(x, 1), x + 1) and torch.equal(aten.pow(x, 2), x * x)
    assert torch.equal(aten.sum.dim_IntList(x, 0), x.sum(0)) and torch.equal(aten.sum(x), x.sum())
    assert (
        torch.equal(aten.max.dim(x, 0)[1], torch.tensor([1, 1])) and type(aten.max(x, 0)) is tuple
    )
    assert type(aten.split.Tensor(x, 1)) is list
    assert torch.equal(aten.slice.Tensor(x, 1, 1), x[:, 1:]) and torch.equal(
        aten.index.Tensor(x, [torch.tensor([1])]), x[1:]
    )
    assert torch.equal(aten.addmm.default(x[0], x, x), torch.addmm(x[0], x, x))
    out = torch.empty(2, 2)
    assert aten.mul.out(x, x, out=out) is out and torch.equal(out, x * x)
    assert aten.sym_size.int(x, 0) == 2 and aten.ones([2]).shape == (2,)
    y = x.clone()
    assert aten.add_.Tensor(y, x) is y and torch.equal(y, 2 * x)
    assert torch.equal(aten._softmax(x, 1, False), torch.softmax(x, 1))


def test_gradients_as_operators():
    x = torch.randn(2, 3, 5, 5, dtype=torch.float64, requires_grad=True)
    w = torch.randn(4, 3, 3, 3, dtype=torch.float64, requires_grad=True)
    y = torch.nn.functional.conv2d(x, w, padding=1)
    g = torch.randn_like(y)
    wanted = torch.autograd.grad(y, (x, w), g)
    got = aten.convolution_backward(
        g, x, w, [4], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, False]
    )
    assert got[2] is None and all(torch.allclose(a, b) for a, b in zip(got, wanted, strict=False))
    v = torch.randn(3, 4, dtype=torch.float64)
    weight, bias = torch.randn(4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    out, mean, rstd = aten.native_layer_norm(v, [4], weight, bias, 1e-5)
    leaves = [t.clone().requires_grad_() for t in (v, weight, bias)]
    made = torch.nn.functional.layer_norm(leaves[0], [4], *leaves[1:])
    g = torch.randn_like(out)
    wanted = torch.autograd.grad(made, leaves, g)
    got = aten.native_layer_norm_backward(g, v, [4], mean, rstd, weight, bias, [True, True, True])
    assert all(torch.allclose(a, b) for a, b in zip(got, wanted, strict=True))


def test_refusals():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="is missing value for argument 'other'"):
        aten.add.Tensor(x)
    with pytest.raises(
        RuntimeError, match="Unknown keyword argument 'beta' for operator 'aten::add'"
    ):
        aten.add.Tensor(x, x, beta=1)
    with pytest.raises(RuntimeError, match="expected at most 2 argument"):
        aten.mul.Tensor(x, x, x)
    with pytest.raises(
        RuntimeError,
        match="Overloaded torch operator invoked from Python failed to match any schema",
    ):
        aten.relu("a")
    with pytest.raises(
        AttributeError, match="'_OpNamespace' 'aten' object has no attribute 'nothing'"
    ):
        _ = aten.nothing
    with pytest.raises(AttributeError, match="has no overload name 'Nothing'"):
        _ = aten.add.Nothing


def test_what_is_not_computed_names_itself():
    with pytest.raises(
        NotImplementedError, match="Could not run 'aten::_sparse_broadcast_to_copy'"
    ):
        aten._sparse_broadcast_to_copy.default(torch.ones(2, 2), [2, 2])


def test_namespaces_of_programs():
    from pellucid.aten import overload

    made = overload.define("dispatch_test", "twice(Tensor x) -> Tensor")
    made.py_impl("CPU")(lambda x: x * 2)
    assert torch.equal(torch.ops.dispatch_test.twice(torch.ones(2)), torch.full((2,), 2.0))
    with pytest.raises(RuntimeError, match="multiple times"):
        overload.define("dispatch_test", "twice(Tensor x) -> Tensor")
    overload.undefine("dispatch_test", "twice")
    with pytest.raises(AttributeError):
        _ = torch.ops.dispatch_test.twice
