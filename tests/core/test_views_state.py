"""Views, in-place writes, detach and backward in random order, against a model that recomputes
everything without views.

The model keeps one flat list of values for each storage. A tensor is (storage, positions); its
history is replayed by a dual number per element: the value and its derivative with respect to the
elements of the leaf. So what backward must give is known exactly.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

import pellucid as torch
from pellucid.core import observe

N = 12  # elements of the leaf


class Model:
    """A tensor of the model: positions in a storage; the storage holds values (n,) and derivatives
    (n, N).
    """

    def __init__(self, storage, positions):
        self.storage, self.positions = storage, positions

    @property
    def values(self):
        return self.storage["values"][self.positions]

    @property
    def slopes(self):
        return self.storage["slopes"][self.positions]

    def write(self, values, slopes):
        self.storage["values"][self.positions] = values
        self.storage["slopes"][self.positions] = slopes


def fresh(values, slopes):
    values = np.asarray(values, dtype=np.float64)
    n = values.size
    storage = {
        "values": values.reshape(n).copy(),
        "slopes": np.broadcast_to(slopes, (*values.shape, N)).reshape(n, N).copy(),
        "writes": 0,
    }
    return Model(storage, np.arange(n).reshape(values.shape))


def repeats(model):
    """Whether places of the storage appear more than once in a tensor."""
    return np.unique(model.positions).size != model.positions.size


class Views(RuleBasedStateMachine):
    tensors = Bundle("tensors")

    @initialize(target=tensors, shape=st.sampled_from([(12,), (3, 4), (2, 3, 2)]))
    def start(self, shape):
        values = np.linspace(-1.0, 1.2, N).reshape(shape)
        self.leaf = torch.tensor(values, requires_grad=True)
        self.all = []
        made = self.leaf * 1.0
        return self.keep(made, fresh(values, np.eye(N).reshape(*shape, N)))

    def keep(self, tensor, model):
        pair = (tensor, model)
        self.all.append(pair)
        return pair

    # ---- new tensors -------------------------------------------------------------------------
    @rule(target=tensors, pair=tensors, data=st.data())
    def view(self, pair, data):
        tensor, model = pair
        shape = tuple(tensor.shape)
        kinds = ["alias", "unsqueeze", "flatten"]
        if len(shape) >= 1 and shape[0] > 0:
            kinds += ["select", "slice", "step", "unbind_first", "narrow"]
        if len(shape) >= 2:
            kinds += ["transpose", "diagonal", "column", "permute"]
        kind = data.draw(st.sampled_from(kinds))
        p = model.positions
        if kind == "alias":
            t, q = tensor[...], p
        elif kind == "unsqueeze":
            if len(shape) > 3:
                return pair
            t, q = tensor.unsqueeze(-1), p[..., None]
        elif kind == "flatten":
            if not tensor.is_contiguous() or len(shape) < 2:
                return pair
            t, q = tensor.view(-1), p.reshape(-1)
        elif kind == "select":
            i = data.draw(st.integers(-shape[0], shape[0] - 1))
            t, q = tensor[i], p[i]
        elif kind == "slice":
            a = data.draw(st.integers(0, shape[0] - 1))
            b = data.draw(st.integers(a + 1, shape[0]))
            t, q = tensor[a:b], p[a:b]
        elif kind == "step":
            t, q = tensor[::2], p[::2]
        elif kind == "unbind_first":
            t, q = tensor.select(0, 0), p[0]
        elif kind == "narrow":
            t, q = tensor.narrow(0, 0, 1), p[:1]
        elif kind == "transpose":
            t, q = tensor.transpose(0, -1), p.swapaxes(0, -1)
        elif kind == "diagonal":
            t, q = tensor.diagonal(), np.moveaxis(np.diagonal(p), 0, 0)
        elif kind == "column":
            t, q = tensor[:, 0], p[:, 0]
        else:
            order = tuple(range(1, len(shape))) + (0,)
            t, q = tensor.permute(order), p.transpose(order)
        return self.keep(t, Model(model.storage, np.asarray(q)))

    @rule(target=tensors, pair=tensors, factor=st.sampled_from([2.0, -0.5]))
    def compute(self, pair, factor):
        tensor, model = pair
        return self.keep(tensor * factor, fresh(model.values * factor, model.slopes * factor))

    @rule(target=tensors, pair=tensors)
    def detach_and_copy(self, pair):
        tensor, model = pair
        return self.keep(tensor.detach().clone(), fresh(model.values, 0.0))

    @rule(target=tensors, pair=tensors)
    def detach(self, pair):
        """The same memory, with derivatives of its own: writes to one change the values, not the
        derivatives, of the other.
        """
        tensor, model = pair
        storage = {**model.storage, "slopes": np.zeros_like(model.storage["slopes"])}
        return self.keep(tensor.detach(), Model(storage, model.positions))

    @rule(target=tensors, pair=tensors, data=st.data())
    def overlapping(self, pair, data):
        """Views in which places repeat: readable, not writable."""
        tensor, model = pair
        if (
            data.draw(st.booleans())
            or tensor.dim() != 1
            or len(tensor) < 2
            or not tensor.is_contiguous()
        ):
            wide = np.broadcast_to(model.positions, (2, *model.positions.shape))
            return self.keep(tensor.expand(2, *tensor.shape), Model(model.storage, wide))
        windows = np.lib.stride_tricks.sliding_window_view(model.positions, 2)
        return self.keep(tensor.unfold(0, 2, 1), Model(model.storage, windows))

    @rule(target=tensors, pair=tensors)
    def square(self, pair):
        """An operation that saves its inputs: a copy, so that later writes are allowed."""
        tensor, model = pair
        v = model.values
        copy = tensor.clone()
        return self.keep(copy * copy, fresh(v * v, 2 * v[..., None] * model.slopes))

    # ---- writes ------------------------------------------------------------------------------
    @rule(pair=tensors, factor=st.sampled_from([0.5, -1.5]))
    def scale(self, pair, factor):
        tensor, model = pair
        if 0 in [
            stride for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1
        ]:
            with pytest.raises(
                RuntimeError, match="more than one element of the written-to tensor"
            ):
                tensor.mul_(factor)
            return
        if repeats(model):
            return
        tensor.mul_(factor)
        model.write(model.values * factor, model.slopes * factor)

    @rule(pair=tensors, factor=st.sampled_from([0.25, 3.0]))
    def scale_unrecorded(self, pair, factor):
        """Under no_grad values change and derivatives do not."""
        tensor, model = pair
        if repeats(model):
            return
        with torch.no_grad():
            tensor.mul_(factor)
        model.write(model.values * factor, model.slopes)

    @rule(pair=tensors, index=st.integers(0, 1))
    def write_to_one_of_several(self, pair, index):
        """The outputs of unbind refuse recorded writes."""
        tensor, model = pair
        if tensor.dim() == 0 or len(tensor) < 2 or not tensor.requires_grad:
            return
        with pytest.raises(RuntimeError, match="a function that returns multiple views"):
            tensor.unbind()[index].add_(1)

    @rule(pair=tensors, other=tensors)
    def add_part(self, pair, other):
        """Adds one element of another tensor, which may share memory."""
        tensor, model = pair
        if repeats(model):
            return
        source, theirs = other
        if source.numel() == 0:
            return
        value, slope = theirs.values.reshape(-1)[0], theirs.slopes.reshape(-1, N)[0]
        tensor += source.reshape(-1)[0].clone()
        model.write(model.values + value, model.slopes + slope)

    @rule(pair=tensors)
    def zero_negative(self, pair):
        tensor, model = pair
        if repeats(model):
            return
        if tensor.dim() == 0:
            return
        keep = ~(model.values < 0)
        tensor[tensor < 0] = 0.0
        model.write(np.where(keep, model.values, 0.0), np.where(keep[..., None], model.slopes, 0.0))

    @rule(pair=tensors, other=tensors)
    def assign_first(self, pair, other):
        tensor, model = pair
        if repeats(model):
            return
        source, theirs = other
        if tensor.dim() == 0 or len(tensor) == 0 or source.numel() == 0:
            return
        value, slope = theirs.values.reshape(-1)[-1], theirs.slopes.reshape(-1, N)[-1]
        tensor[0] = source.reshape(-1)[-1].clone()
        Model(model.storage, model.positions[0]).write(value, slope)

    @rule(pair=tensors)
    def index_write(self, pair):
        tensor, model = pair
        if repeats(model):
            return
        if tensor.dim() == 0 or len(tensor) == 0:
            return
        tensor[torch.tensor([len(tensor) - 1])] *= 3.0
        part = Model(model.storage, model.positions[[-1]])
        part.write(part.values * 3.0, part.slopes * 3.0)

    @rule(pair=tensors)
    def fill_under_mask(self, pair):
        tensor, model = pair
        if repeats(model):
            return
        big = model.values > 0.75
        tensor.masked_fill_(tensor > 0.75, 0.25)
        model.write(np.where(big, 0.25, model.values), np.where(big[..., None], 0.0, model.slopes))

    # ---- what must hold ----------------------------------------------------------------------
    @invariant()
    def values_agree(self):
        for tensor, model in getattr(self, "all", ()):
            assert tuple(tensor.shape) == model.positions.shape
            np.testing.assert_allclose(
                tensor.detach().numpy(), model.values, rtol=1e-12, atol=1e-300
            )

    @invariant()
    def versions_agree(self):
        by_storage = {}
        for tensor, model in getattr(self, "all", ()):
            known = by_storage.setdefault(id(model.storage["values"]), tensor._version)
            assert known == tensor._version

    @rule(pair=tensors)
    def backward(self, pair):
        tensor, model = pair
        if not tensor.requires_grad:
            assert not model.slopes.any() or tensor.numel() == 0
            return
        weights = np.linspace(0.5, 2.0, max(tensor.numel(), 1))[: tensor.numel()].reshape(
            tuple(tensor.shape)
        )
        (found,) = torch.autograd.grad(
            (tensor * torch.tensor(weights)).sum(), self.leaf, retain_graph=True, allow_unused=True
        )
        expected = (weights[..., None] * model.slopes).reshape(-1, N).sum(0)
        got = np.zeros(N) if found is None else found.numpy().reshape(-1)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


class WatchedViews(Views):
    """The same while somebody watches, which sends everything through the engine's general path."""

    def __init__(self):
        super().__init__()
        self.observer = object()
        observe.add_observer(self.observer)

    def teardown(self):
        observe.remove_observer(self.observer)


OPTIONS = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
Views.TestCase.settings = WatchedViews.TestCase.settings = OPTIONS
TestViews, TestWatchedViews = Views.TestCase, WatchedViews.TestCase


def test_a_refused_write_leaves_the_hooks_of_a_view():
    w = torch.randn(1, 4, requires_grad=True)
    for make in (
        lambda: w.as_strided((3,), (1,), 0),
        lambda: w[0],
        lambda: w.as_strided((3,), (1,))[1:],
    ):
        view = make()
        view.register_hook(lambda g: g * 2)
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            view.add_(1)
        (slope,) = torch.autograd.grad(view.sum(), w)
        assert slope.unique().tolist() in ([0.0, 2.0], [2.0])


@pytest.mark.parametrize(
    "write",
    [
        lambda base, view: torch.no_grad()(base.mul_)(3),
        lambda base, view: torch.no_grad()(view.mul_)(3),
        lambda base, view: torch.no_grad()(base.copy_)(torch.ones(4)),
        lambda base, view: base.detach().mul_(3),
        lambda base, view: base.mul_(3),
    ],
)
def test_a_write_to_the_base_ends_the_hooks_of_a_view_and_keeps_its_retained_gradient(write):
    base = torch.ones(4, requires_grad=True) * 2
    view, seen = base[:2], []
    view.register_hook(lambda g: seen.append(g) or g * 2)
    view.retain_grad()
    before = view * 2  # made of the view as it was: its hooks see this gradient
    write(base, view)
    (view * 1).sum().backward(retain_graph=True)
    assert seen == [] and view.grad.tolist() == [1.0, 1.0]
    before.sum().backward()
    assert [g.tolist() for g in seen] == [[2.0, 2.0]]


@pytest.mark.parametrize("written", ["base", "view"])
@pytest.mark.parametrize(
    "make", [lambda b: b[:2], lambda b: b.view(2, 2), lambda b: b.view(2, 2).t()[1:]]
)
def test_a_view_from_before_its_base_required_a_gradient_gives_it_one_after_a_write(make, written):
    base = torch.arange(4.0)
    view = make(base)
    base.requires_grad_()
    assert view.is_leaf and view.requires_grad  # until then it is apart
    with torch.no_grad():
        {"base": base, "view": view}[written].mul_(2)
    assert not view.is_leaf and view.requires_grad
    assert view.grad_fn.name() == "AsStridedBackward0"
    (view * view).sum().backward()
    expected = torch.zeros(4)
    make(expected).copy_(2 * view.detach())
    torch.testing.assert_close(base.grad, expected)


def test_views_of_a_part_are_outdated_by_writes_after_their_base_required_a_gradient():
    base = torch.arange(4.0)
    part = base.unbind(0)[1]
    base.requires_grad_()
    with torch.no_grad():
        base.mul_(2)
    with pytest.raises(RuntimeError, match="Output 1 of Unbind|returns multiple views"):
        part.grad_fn
