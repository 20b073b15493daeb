"""Gradients that are sparse: of embeddings, added up, given to hooks, and taken by optimizers."""

import numpy as np
import pytest

import pellucid as torch

W = np.linspace(-1, 1, 18).reshape(6, 3)


def table(**options):
    e = torch.nn.Embedding(6, 3, sparse=True, dtype=torch.float64, **options)
    with torch.no_grad():
        e.weight.copy_(torch.from_numpy(W))
    return e


def test_the_gradient_of_an_embedding():
    e = table()
    e(torch.tensor([[1, 1], [3, 0]])).sum().backward()
    g = e.weight.grad
    assert (
        g.is_sparse
        and not g.is_coalesced()
        and g._indices().tolist() == [[1, 1, 3, 0]]
        and g.dense_dim() == 1
    )
    e(torch.tensor([2])).sum().backward()
    assert e.weight.grad.to_dense()[:, 0].tolist() == [1, 2, 1, 1, 0, 0]
    padded = table(padding_idx=1)
    padded(torch.tensor([1, 1, 3])).sum().backward()
    assert padded.weight.grad._indices().tolist() == [[3]]
    with pytest.raises(
        RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"
    ):
        table(scale_grad_by_freq=True)(torch.tensor([1])).sum().backward()


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_the_gradient_of_bags(mode):
    grads = []
    for sparse in (False, True):
        w = torch.from_numpy(W).requires_grad_()
        out = torch.nn.functional.embedding_bag(
            torch.tensor([1, 1, 3, 4]),
            w,
            torch.tensor([0, 3]),
            mode=mode,
            sparse=sparse,
            padding_idx=4,
        )
        (out * torch.tensor([[1.0, 2.0, 3.0]])).sum().backward()
        grads.append(w.grad.to_dense().numpy())
    np.testing.assert_allclose(*grads)
    with pytest.raises(ValueError, match="max mode does not support sparse weights"):
        torch.nn.functional.embedding_bag(
            torch.tensor([1]), w, torch.tensor([0]), mode="max", sparse=True
        )
    with pytest.raises(
        ValueError, match="max mode does not support scaling the gradient by the frequency"
    ):
        torch.nn.functional.embedding_bag(
            torch.tensor([1]), w, torch.tensor([0]), mode="max", scale_grad_by_freq=True
        )
    # not looked at there
    assert torch.embedding_bag(w, torch.tensor([1]), torch.tensor([0]), True, 2)[0].shape == (1, 3)


def test_sparse_and_dense_gradients_are_added_up():
    def looked_up(w):
        return torch.nn.functional.embedding(torch.tensor([1, 1, 3]), w, sparse=True).sum()

    expected = np.full((6, 3), 2.0)
    expected[1], expected[3] = 4, 3
    for steps in (
        [lambda w: looked_up(w) + 2 * w.sum()],
        [lambda w: 2 * w.sum() + looked_up(w)],
        [looked_up, lambda w: 2 * w.sum()],
        [lambda w: 2 * w.sum(), looked_up],
        [lambda w: looked_up(w) + 2 * w.sum() + 0 * looked_up(w)],
    ):
        w = torch.from_numpy(W).requires_grad_()
        for step in steps:
            step(w).backward()
        np.testing.assert_allclose(w.grad.to_dense().numpy(), expected)
    seen = []
    w = torch.from_numpy(W).requires_grad_()
    w.register_hook(lambda g: seen.append(g.layout))
    w.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad._nnz()))
    looked_up(w).backward()
    assert seen == [torch.sparse_coo, 3]
    (g,) = torch.autograd.grad(looked_up(w * 2), w)
    np.testing.assert_allclose(g.to_dense().numpy()[[1, 3, 0], 0], [4, 2, 0])


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("SGD", {"lr": 0.1}),
        ("SGD", {"lr": 0.1, "momentum": 0.9}),
        ("SGD", {"lr": 0.1, "maximize": True}),
        ("Adagrad", {"lr": 0.1}),
    ],
)
def test_optimizers_do_with_sparse_gradients_what_they_do_with_dense_ones(name, options):
    weights = []
    for sparse in (False, True):
        e = table()
        e.sparse = sparse
        o = getattr(torch.optim, name)(e.parameters(), **options)
        for i in range(4):
            o.zero_grad()
            (e(torch.tensor([1, 1, 3, i])) ** 2).sum().backward()
            o.step()
        weights.append(e.weight.detach().numpy())
    np.testing.assert_allclose(*weights, rtol=1e-12)


def test_sparse_adam_leaves_other_rows_alone():
    e = table()
    o = torch.optim.SparseAdam(e.parameters(), lr=0.1)
    (e(torch.tensor([1, 1, 3])) ** 2).sum().backward()
    o.step()
    changed = np.abs(e.weight.detach().numpy() - W).sum(1)
    assert (changed > 0).tolist() == [False, True, False, True, False, False]
    np.testing.assert_allclose(changed[[1, 3]], 0.3, rtol=1e-5)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients"):
        w = torch.nn.Parameter(torch.ones(2))
        w.sum().backward()
        torch.optim.SparseAdam([w]).step()
    with pytest.raises(ValueError, match="^Sparse params at indices \\[\\[0, 0\\]\\]"):
        torch.optim.SparseAdam([torch.eye(2).to_sparse().requires_grad_()])
    with pytest.raises(
        RuntimeError, match="^Adam does not support sparse gradients, please consider SparseAdam"
    ):
        torch.optim.Adam(e.parameters()).step()


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
def test_compiled_steps_with_sparse_gradients():
    found = []
    for compiled in (False, True):
        e = table()
        o = torch.optim.SGD(e.parameters(), lr=0.1)

        def step(i, e=e, o=o):
            o.zero_grad()
            loss = (e(i) ** 2).sum()
            loss.backward()
            o.step()
            return loss

        run = torch.compile(step) if compiled else step
        found.append([run(torch.tensor([1, 1, k])).item() for k in range(4)])
    assert found[0] == found[1]


def test_products_with_sparse_matrices_are_in_the_precision_of_autocast():
    s, d = torch.eye(4).to_sparse(), torch.ones(4, 4, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = [torch.sparse.mm(s, d), s @ d, d @ s, torch.sparse.addmm(d, s, d), torch.mm(s, d)]
        made += [s @ d[0], torch.nn.functional.linear(d, s)]
    assert {m.dtype for m in made} == {torch.bfloat16}
    made[0].sum().backward()
    assert d.grad.dtype is torch.float32 and d.grad.tolist() == [[1.0] * 4] * 4
    assert (s @ d).dtype is torch.float32
