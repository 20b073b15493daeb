"""Memory, write counters and lifetimes of views; writes that must be seen or refused by the graph."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import pellucid as torch
from pellucid.errors import full_text


def leaf(shape=(2, 3), dtype=torch.float64):
    return torch.tensor(
        np.arange(float(np.prod(shape))).reshape(shape), dtype=dtype, requires_grad=True
    )


def test_views_share_memory_and_counter():
    x = torch.zeros(4, 3)
    views = [
        x[1],
        x[:, 0],
        x.t(),
        x.view(-1),
        x.unsqueeze(0),
        x.diagonal(),
        x.expand(2, 4, 3),
        *x.split(2),
        *x.unbind(1),
    ]
    x.fill_(3.0)
    assert all((v == 3).all() for v in views)
    assert {v._version for v in views} == {x._version} == {1}
    views[3][2] = 7.0
    assert x[0, 2] == 7 and x._version == 2
    assert all(v._base is x for v in views)
    assert x.view(-1)[3:].view(3, 3)._base is x


def test_copies_do_not_share():
    x = torch.zeros(2, 3)
    for copy in (
        x.clone(),
        x.t().reshape(6),
        x[[0, 1]],
        x[x == 0],
        x.t().contiguous(),
        x.repeat(1, 1),
        x.flip(0),
        torch.cat([x]),
    ):
        copy.fill_(5.0)
        assert copy._base is None and copy._version == 1
    assert not x.any() and x._version == 0


def test_refused_view_names_the_operation_that_made_it_non_contiguous():
    with pytest.raises(RuntimeError, match="view size is not compatible") as error:
        (leaf() * 2).t().view(6)
    text = full_text(error.value)
    assert (
        "became non-contiguous by t" in text and "test_views.py" in text and ".reshape(...)" in text
    )


def test_a_base_lives_as_long_as_its_view_and_nothing_lives_longer():
    gc.collect()
    gc.disable()
    try:
        x = torch.zeros(3, 3)
        view = x[0]
        here, there = weakref.ref(x), weakref.ref(view)
        del x
        assert here() is not None
        del view
        assert here() is None and there() is None
        y = leaf() * 2
        parts = y.unbind()
        alive = weakref.ref(y)
        y[0, 1:] *= 3
        del y, parts
        assert alive() is None
    finally:
        gc.enable()


def test_many_short_lived_views_leave_nothing_behind():
    x = torch.zeros(10)
    for i in range(1000):
        x[i % 10] += 1
        x[1:3]
    assert len(x._ver.views) < 200


def test_constant_written_into_a_view_cuts_the_old_gradient():
    x = leaf()
    y = x * 2
    row = y[0]
    row.copy_(torch.ones(3))
    y.sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [2, 2, 2]]


def test_constant_written_over_everything():
    x = leaf()
    y = x * 2
    part = y[1]
    y.copy_(torch.ones(2, 3))
    assert y.requires_grad and part.requires_grad
    (part * 5).sum().backward()
    assert not x.grad.any()


def test_view_taken_before_a_write_sees_its_gradient():
    x = leaf()
    y = x * 1
    column = y[:, 1]
    y.mul_(torch.tensor([1.0, 10.0, 100.0]))
    assert column.tolist() == [10, 40]
    column.sum().backward()
    assert x.grad.tolist() == [[0, 10, 0], [0, 10, 0]]


def test_base_without_gradient_takes_it_from_a_write_to_a_view():
    x = leaf()
    y = torch.zeros(2, 3)
    before = y[0]
    y[1] = x[0] * 3
    assert y.requires_grad and before.requires_grad
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    y.sum().backward()
    assert x.grad.tolist() == [[3, 3, 3], [0, 0, 0]]


def test_in_place_product_with_its_own_transpose():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    with pytest.raises(
        RuntimeError,
        match="some elements of the input tensor and the written-to tensor refer to a single memory",
    ):
        y.mul_(y.t())
    y.mul_(y.t().clone())
    y.sum().backward()
    assert x.grad.tolist() == [[2, 6], [4, 8]]


def test_saved_value_overwritten_through_a_view():
    x = leaf()
    y = x * 1
    z = (y * y).sum()
    y[0].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation") as error:
        z.backward()
    assert "add_ overwrote it" in full_text(error.value)


def test_index_changed_after_use_is_noticed():
    x, index = leaf(), torch.tensor([0, 1])
    y = x[index].sum()
    index[0] = 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_view_made_a_leaf_is_one():
    base = torch.arange(6.0)
    x = base.view(2, 3).requires_grad_()
    for write in (lambda: x.mul_(2), lambda: x[0].mul_(2), lambda: x.__setitem__(0, 1)):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            write()
    base[0] = 7.0
    assert x[0, 0] == 7 and x.is_leaf


@pytest.mark.parametrize(
    "write",
    [
        "mul_(2)",
        "fill_(0)",
        "__setitem__(0, 1.0)",
        "masked_fill_(torch.tensor([True, False, True]), 1.0)",
    ],
)
def test_refused_writes_leave_everything_as_it_was(write):
    x = leaf()
    with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
        eval(f"x[0].{write}", {"x": x, "torch": torch})
    y = x * 2
    with pytest.raises(
        RuntimeError,
        match=r"Output 0 of (Unbind|Select|Slice) is a view .* a function that returns multiple views",
    ):
        eval(f"y.unbind()[0].{write}", {"y": y, "torch": torch})
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]] and y.tolist() == [[0, 2, 4], [6, 8, 10]]
    assert x._version == 0 and y._version == 0


def test_writes_through_expanded_tensors():
    x = torch.zeros(3, 1)
    wide = x.expand(3, 4)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        wide += 1
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        wide[0] = torch.arange(4.0)
    wide[:, 0] = 2.0
    wide[:, 1:2].add_(1)
    assert x.tolist() == [[3], [3], [3]]


def test_write_to_a_view_made_without_recording():
    y = leaf() * 2
    with torch.no_grad():
        z = y[0]
        z.mul_(3)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        z.mul_(3)
    y.sum().backward()


def test_as_strided_gradients_where_places_repeat():
    x = torch.arange(5.0).requires_grad_()
    x.as_strided((3, 3), (1, 1)).sum().backward()
    assert x.grad.tolist() == [1, 2, 3, 2, 1]
    base = torch.arange(6.0).reshape(2, 3).requires_grad_()
    y = base * 1
    y.t().as_strided((2, 2), (3, 1), 1).mul_(5)
    y.sum().backward()
    assert base.grad.tolist() == [[1, 5, 5], [1, 5, 5]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_as_strided_scatter_touches_only_its_own_elements(dtype):
    """Places of the storage before and behind the tensor are not in its copy."""
    x = torch.arange(6, dtype=dtype)
    two = torch.tensor([9, 8], dtype=dtype)
    assert torch.as_strided_scatter(x[1:], two, (2,), (1,), 0).tolist() == [8, 2, 3, 4, 5]
    assert torch.as_strided_scatter(x[1:3], two, (2,), (1,), 4).tolist() == [1, 2]
    assert torch.as_strided_scatter(x[::2], two, (2,), (1,), 1).tolist() == [0, 8, 4]


def test_gradients_of_as_strided_read_nothing_around_them():
    leaf = torch.arange(6.0).requires_grad_()
    part = torch.ones(2, requires_grad=True)
    out = torch.as_strided_scatter((leaf * 2)[1:], part, (2,), (1,), 0)
    torch.cat([out, out * 3])[3:].cumsum(0).sum().backward()
    assert leaf.grad.tolist() == [0, 0, 24, 18, 26, 18]
    assert part.grad.tolist() == [0, 15]


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages():
    x = torch.arange(6.0).reshape(2, 3)
    part = x[1, 1:]
    assert part.storage_offset() == 4 and part.untyped_storage().nbytes() == 24
    assert part.untyped_storage().data_ptr() == x.data_ptr() == part.data_ptr() - 16
    assert part.untyped_storage() == x.untyped_storage() != x.clone().untyped_storage()
    assert part.storage().tolist() == [0, 1, 2, 3, 4, 5] and part.storage().size() == 6
    y = torch.empty(0)
    y.set_(x.untyped_storage(), 2, (2, 2), (1, 2))
    assert y.tolist() == [[2, 4], [3, 5]]
    y[0, 0] = 9
    assert x[0, 2] == 9


def test_resize_keeps_what_fits():
    x = torch.arange(6.0)
    y = x[2:]
    y.resize_(2, 2)
    assert y.tolist() == [[2, 3], [4, 5]] and y.storage_offset() == 2
    x.resize_(2, 4)
    assert x.flatten()[:6].tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        leaf().resize_(3)


def test_views_of_meta_tensors_have_strides():
    x = torch.empty(4, 6, device="meta")
    for code in (
        "x.t()",
        "x[1:, ::2]",
        "x.view(2, 2, 6)",
        "x.diagonal()",
        "x.unfold(1, 2, 2)",
        "x[:, None]",
        "x.expand(2, 4, 6)",
        "x.split(3, 1)[1]",
    ):
        ours = eval(code, {"x": x})
        like = eval(code, {"x": torch.empty(4, 6)})
        assert ours.is_meta and ours.shape == like.shape and ours.stride() == like.stride(), code
    assert x.t().reshape(24).shape == (24,) and x.t().contiguous().stride() == (4, 1)


def test_second_order_through_writes_and_indices():
    x = leaf((3, 3))
    y = x * x
    y[0] = y[1].clone() * x[2]
    y[torch.tensor([2])] *= x[0]
    y.diagonal().mul_(x[1])
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), x)
    step = 1e-6

    def gradient(values):
        v = torch.tensor(values, requires_grad=True, dtype=torch.float64)
        u = v * v
        u[0] = u[1].clone() * v[2]
        u[torch.tensor([2])] *= v[0]
        u.diagonal().mul_(v[1])
        return torch.autograd.grad((u * u).sum(), v)[0].sum().item()

    for place in ((0, 0), (1, 2), (2, 1)):
        up, down = x.detach().numpy().astype(float), x.detach().numpy().astype(float)
        up[place] += step
        down[place] -= step
        assert second[place].item() == pytest.approx(
            (gradient(up) - gradient(down)) / (2 * step), rel=1e-4
        )


def test_long_chains_of_views_stay_short():
    x = leaf((3, 4))
    y = x * 1
    z = y
    for _ in range(301):
        z = z.t()
    assert len(z._view.chain) < 40
    z[1].mul_(10)
    y.sum().backward()
    assert x.grad.tolist() == [[1, 10, 1, 1]] * 3


def test_views_of_inference_tensors_are_inference_tensors():
    with torch.inference_mode():
        x = torch.ones(3)
    assert x[0].is_inference() and x.view(3, 1).is_inference()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        x[:2].mul_(2)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.split(2)[0],
        lambda x: x.unbind(0)[0],
        lambda x: x.chunk(2)[1],
        lambda x: x[:].split([1, 3])[1],
    ],
)
def test_several_views_made_under_no_grad_are_not_written_to_with_grad(view):
    x = torch.ones(4, requires_grad=True) * 1
    with torch.no_grad():
        part = view(x)
        part.add_(1)
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        part.add_(1)
    with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
        view(x).add_(1)


def test_gradient_through_a_written_view_may_lie_otherwise_than_the_base():
    """The chain of a written view is replayed on the gradient, which has other strides: `view`
    looks at its elements, not at memory.
    """
    weight = torch.arange(12.0, dtype=torch.float64)

    def plain(x):
        u = x.sin()
        u.view(2, 6)[0].mul_(3)
        return u.t() * weight.reshape(4, 3)

    def turned(x):  # the base itself is the transposed one
        u = x.t().sin().t()
        u.view(2, 6)[0].mul_(3)
        return u.t() * weight.reshape(4, 3)

    factor = torch.tensor([3.0] * 6 + [1.0] * 6, dtype=torch.float64).reshape(3, 4)
    for function in (plain, turned, torch.compile(plain), torch.compile(turned)):
        for k in range(4):
            x = torch.linspace(0, 1, 12, dtype=torch.float64).reshape(3, 4).requires_grad_()
            (got,) = torch.autograd.grad(
                function(x).sum(), x, create_graph=k == 1 and function in (plain, turned)
            )
            assert torch.allclose(got, x.detach().cos() * factor * weight.reshape(4, 3).t())
        jacobian = torch.func.jacrev(function)(x.detach())
        assert torch.allclose(
            jacobian.sum((0, 1)), x.detach().cos() * factor * weight.reshape(4, 3).t()
        )


def _write_in_a_function(z):
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx, z):
            ctx.mark_dirty(z)
            return z.mul_(3)

        @staticmethod
        def backward(ctx, g):
            return g * 3

    return Triple.apply(z)


@pytest.mark.parametrize(
    "write", [lambda z: z.mul_(3), lambda z: z[:].mul_(3), _write_in_a_function]
)
@pytest.mark.parametrize(
    "view",
    [
        lambda b: b[1:3].as_strided((2,), (1,), 4),
        lambda b: b.view(2, 3).t()[:1].as_strided((2,), (1,), 4),
        lambda b: b[1:3].as_strided((3,), (1,), 3).as_strided((2,), (1,)).as_strided((2,), (1,), 4),
        lambda b: torch.view_as_complex(b.view(3, 2)[:1]).as_strided((1,), (1,), 2),
        lambda b: torch.view_as_real(torch.view_as_complex(b.view(3, 2)))[0].as_strided(
            (2,), (1,), 4
        ),
    ],
)
def test_a_write_through_as_strided_reaches_the_base_outside_of_the_view_it_was_made_of(
    view, write
):
    x = torch.arange(1.0, 7.0).requires_grad_()
    base = x * 1
    near = base[3:]
    far = view(base)
    write(far)
    assert base.tolist() == [1, 2, 3, 4, 15, 18]
    (g,) = torch.autograd.grad(base.sum() + 2 * near.sum(), x, retain_graph=True)
    assert g.tolist() == [1, 1, 1, 3, 9, 9]
    (g,) = torch.autograd.grad(far.abs().square().sum(), x)
    assert g.tolist() == pytest.approx([0, 0, 0, 0, 6 * 15, 6 * 18])


def test_a_write_through_as_strided_of_parts_of_complex_numbers_reaches_the_other_part():
    x = torch.ones(4, dtype=torch.complex64).requires_grad_()
    base = x * 1
    base.real[1:2].as_strided((2,), (1,), 5).mul_(3)
    (g,) = torch.autograd.grad(torch.view_as_real(base).sum(), x)
    assert g.tolist() == [1 + 1j, 1 + 1j, 1 + 3j, 3 + 1j]


def test_a_base_that_does_not_fill_its_storage_has_no_gradient_of_what_was_written_outside():
    w = torch.ones(2, requires_grad=True)
    base = torch.ones(6)[1:3].detach()
    far = base[1:].as_strided((2,), (1,), 2)
    far.mul_(w)
    for y in (base, far):
        with pytest.raises(
            RuntimeError, match=r"offset 1, .* storage size of 12 are out of bounds"
        ):
            y.sum().backward()
    with torch.inference_mode():
        made = torch.as_strided_scatter(torch.zeros(4), torch.ones(2), (2,), (3,))
    assert made.tolist() == [1, 0, 0, 1]


def test_who_wrote_last_is_told_although_the_tensor_is_gone():
    def loss(write):
        y = torch.ones(3, requires_grad=True) * 2
        out = y.sin().sum()
        write(y)
        return out

    for write, name in (
        (lambda y: y.add_(1), "Add"),
        (lambda y: y[:1].fill_(1), "torch::autograd::CopySlices"),
        (lambda y: y.detach().add_(1), "Mul"),
    ):
        with pytest.raises(RuntimeError, match=rf"output 0 of {name}, is at version 1"):
            loss(write).backward()
