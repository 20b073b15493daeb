"""First-class dimensions (`functorch.dim`); the numbers are those of the same sums by position."""

import pytest

import pellucid as torch
from pellucid._functorch.dim import (
    Dim,
    DimensionBindError,
    DimList,
    cat,
    dimlists,
    dims,
    split,
    stack,
)

A = torch.arange(12.0).reshape(3, 4)
B = torch.arange(20.0).reshape(4, 5)


def test_dimensions_take_the_names_that_they_are_assigned_to():
    i, j = dims()
    assert repr((i, j)) == "(i, j)"
    one = dims(1)
    assert repr(one) == "one" and not one.is_bound
    assert repr(dims(3)) == "(d0, d1, d2)"
    batch, channel = dims(sizes=[None, 3])
    assert channel.size == 3
    with pytest.raises(ValueError, match="dimension batch is unbound"):
        _ = batch.size
    with pytest.raises(SyntaxError, match="must be assigned"):
        print(dims())
    with pytest.raises(ValueError, match="expected 2 sizes but found 1"):
        dims(2, sizes=[1])


def test_an_index_binds_a_size_for_good():
    i, j = dims()
    x = A[i, j]
    assert (x.dims, x.shape, x.ndim, i.size, j.size) == ((i, j), (), 0, 3, 4)
    with pytest.raises(DimensionBindError, match="previously bound to a dimension of size 3"):
        B[i]
    with pytest.raises(DimensionBindError, match="previously bound"):
        A[j, i]


def test_order_makes_positions_of_dimensions():
    i, j, k = dims()
    x = A[i, j]
    assert x.order(j, i).equal(A.T)
    assert x.order((j, i)).equal(A.T.reshape(-1))
    part = x.order(j)
    assert repr(part).endswith("with dims=(i, 0) sizes=(3, 4)")
    assert part.order(0, i).equal(A.T) and part.order(-1, i).equal(A.T)
    for wrong in ((k,), (i, i)):
        with pytest.raises(ValueError, match="does not contain dim"):
            x.order(*wrong)


def test_a_sum_over_a_product_is_a_product_of_matrices():
    i, j, k = dims()
    product = A[i, k] * B[k, j]
    assert product.sum(k).order(i, j).equal(A @ B)
    assert (A[i, k] * B[k, j]).sum(dim=(k, j)).order(i).equal((A @ B).sum(1))
    # looked at before it is summed, it is there
    assert product.order(i, k, j).equal(A[:, :, None] * B)
    p = torch.ones(3, 4, requires_grad=True)
    (p[i, k] * B[k, j]).sum((i, k, j)).backward()
    assert p.grad.equal(B.sum(1).expand(3, 4))


@pytest.mark.parametrize("name", "sum mean prod amax logsumexp std argmax".split())
def test_reductions_over_dimensions(name):
    i, j = dims()
    assert torch.allclose(getattr(A[i, j], name)(j).order(i), getattr(A, name)(1))
    assert torch.allclose(getattr(A[i], name)(i), getattr(A, name)(0))
    assert torch.allclose(getattr(A[i], name)(0).order(i), getattr(A, name)(1))


def test_other_functions_of_a_dimension():
    i, j = dims()
    x = A[i, j]
    values, at = x.max(j)
    assert values.order(i).equal(A.max(1)[0]) and at.order(i).equal(A.max(1)[1])
    assert x.softmax(i).order(i, j).equal(A.softmax(0))
    assert torch.softmax(x, j).order(i, j).equal(A.softmax(1))
    assert x.cumsum(i).order(i, j).equal(A.cumsum(0))
    assert (-x).sort(j)[0].order(i, j).equal((-A).sort(1)[0])
    assert [r.order(j).tolist() for r in x.unbind(i)] == A.tolist()
    with pytest.raises(ValueError, match="cannot preserve first-class dimensions"):
        x.sum(i, keepdim=True)


def test_dimensions_in_arithmetic_are_their_positions():
    i, j = dims(sizes=[2, 3])
    assert (i * 10 + j).order(i, j).tolist() == [[0, 1, 2], [10, 11, 12]]
    assert torch.where(i >= j, 1, 0).order(i, j).tolist() == [[1, 0, 0], [1, 1, 0]]
    assert i.sum(i).item() == 1


def test_dimensions_split_and_pick():
    i, j, k, h = dims()
    h.size = 2
    assert A[i, (h, k)].order(i, k, h).equal(A.reshape(3, 2, 2).mT)
    assert A[[i, j]].order(j, i).equal(A.T)
    square = A[:, :3]
    assert square[i, i].order(i).equal(square.diagonal())
    where = torch.tensor([2, 0, 3])
    assert A[i, where[i]].order(i).tolist() == [2, 4, 11]
    window = torch.arange(5.0)
    a, b = dims(sizes=[4, 2])
    assert window[a + b].order(a, b).tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert A[i].order(i)[:, 1:].equal(A[i, 1:].order(i))
    assert A[i, None].shape == (1, 4) and A[..., j].shape == (3,)
    with pytest.raises(ValueError, match="at least 3 indices"):
        A[i, j, k]
    with pytest.raises(DimensionBindError, match="do not match"):
        torch.arange(7)[(h, h),]


def test_writing_lines_dimensions_up():
    i, j = dims()
    x = A[i, j]
    out = torch.zeros(4, 3)
    out[j, i] = x
    assert out.equal(A.T)
    out[j] = torch.arange(4.0)[j]
    assert out.equal(torch.arange(4.0)[:, None].expand(4, 3))
    out[j, 1:] = 7.0
    assert out[:, 1:].unique().item() == 7
    hot = torch.zeros(3, 4)
    hot[i, torch.tensor([2, 0, 3])[i]] = 1.0
    assert hot.nonzero().tolist() == [[0, 2], [1, 0], [2, 3]]
    with pytest.raises(DimensionBindError, match="does not contain dim"):
        out[j] = x


def test_stack_cat_split_index_expand():
    i, j, which, long = dims()
    x = A[i, j]
    assert stack([x, x + 1], which).order(which, i, j).equal(torch.stack([A, A + 1]))
    assert cat([x, x], j, long).order(i, long).equal(torch.cat([A, A], 1))
    u, v = dims(sizes=[1, None])
    first, rest = split(x, [u, v], j)
    assert first.order(i, u).equal(A[:, :1]) and rest.order(i, v).equal(A[:, 1:])
    assert [s.order(i).shape for s in A[i].split(2)] == [(3, 2), (3, 2)]
    m = dims(1)
    assert x.index(i, 1).order(j).equal(A[1]) and x.index([i, j], [1, 2]).item() == 6
    assert x.index(j, m).order(m, i).equal(A.T)
    n = Dim("n", 2)
    assert x.expand(n).order(n, i, j).equal(A.expand(2, 3, 4))
    with pytest.raises(DimensionBindError, match="already exists"):
        x.expand(i)
    with pytest.raises(TypeError, match="split list must be ints or dims"):
        split(x, [u, 3], j)


def test_lists_of_dimensions():
    rest = dimlists()
    assert repr(rest) == "*rest" and not rest.is_bound
    i = dims(1)
    x = torch.ones(2, 3, 4)[i, rest]
    assert repr(rest) == "(rest0, rest1)" and rest[1].size == 4 and len(rest) == 2
    assert x.order(rest, i).shape == (3, 4, 2)
    assert repr(DimList(2)) == "(dim0, dim1)" and DimList([3])[0].size == 3
    with pytest.raises(DimensionBindError, match="size 2 but it is being bound to size 1"):
        rest.bind_len(1)


def test_modules_and_functions_run_per_sample():
    i, j = dims()
    layer = torch.nn.Linear(4, 2)
    assert torch.allclose(layer(A[i]).order(i), layer(A))
    assert torch.allclose((A[i] @ B).order(i), A @ B)
    assert torch.allclose(torch.nn.functional.relu(A[i, j] - 5).order(i, j), (A - 5).relu())
    assert A[i].sum(i).equal(A.sum(0)) and A[i].reshape(2, 2).order(i).shape == (3, 2, 2)
    assert [r.order(i).tolist() for r in A[i]] == A.T.tolist()
    with pytest.raises(ValueError, match="only one element"):
        float(A[i].sum())


def test_classes_that_are_no_tensor_hear_of_indices_that_they_are_in():
    class Named:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, types, args[1]

    n = Named()
    for index in (n, (n, 1), ((n, n),)):
        assert A[index] == ("__getitem__", (Named,), index)
    heard = []
    Named.__torch_function__ = staticmethod(lambda *call: heard.append(call[0].__name__))
    A[n] = 1
    assert heard == ["__setitem__"]
