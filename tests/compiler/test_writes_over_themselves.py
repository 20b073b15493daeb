"""Compiled steps that write to memory which they read, or whose elements share memory: what is left
there is what eager operations leave.
"""

import copy
import warnings

import pytest

import pellucid as torch

ROWS = torch.tensor([0, 2])
LAYOUTS = {
    "contiguous": lambda: torch.arange(12.0).reshape(3, 4)[:, :3].contiguous(),
    "rows apart": lambda: torch.arange(12.0).reshape(3, 4)[:, 1:],
    "turned": lambda: torch.arange(9.0).reshape(3, 3).t(),
    "steps": lambda: torch.arange(18.0).reshape(3, 6)[:, ::2],
}
SHARED = {
    "windows": lambda: torch.arange(6.0).unfold(0, 3, 1),
    "strides": lambda: torch.arange(9.0).as_strided((3, 3), (2, 1)),
}


def move_down(a):
    a[1:] = a[:-1]


def move_up(a):
    a[:-1] = a[1:]


def copy_down(a):
    a[1:].copy_(a[:-1])


def move_aside(a):
    a[:2, :2] = a[1:, 1:]


def turn(a):
    a.t()[:] = a


def exchange(a):
    a[1:], a[:-1] = a[:-1], a[1:]


def rectified(a):
    a[1:] = a[:-1].relu()


def summed(a):
    a[1:].add_(a[:-1])


def fill_rows(a):
    a.index_fill_(0, ROWS, -1.0)


def copy_rows(a):
    a.index_copy_(0, ROWS, a[:2] * 2)


def add_rows(a):
    a.index_add_(0, ROWS, a[:2] * 2)


def set_rows(a):
    a[ROWS] = a[:2] * 3


def put_rows(a):
    a.index_put_((ROWS,), torch.tensor(9.0), accumulate=True)


def set_by_mask(a):
    a[a > 2] = -1.0


def said(step, a):
    """What a step refuses: overlaps that are easy to see, as in PyTorch."""
    try:
        step(a)
    except RuntimeError as error:
        return str(error)


def held_to_eager(step, make):
    compiled = torch.compile(step)
    for _ in range(3):
        a, b = make(), make()
        assert said(step, a) == said(compiled, b)
        assert torch.equal(a, b)


@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(
    "step", [move_down, move_up, copy_down, move_aside, turn, exchange, rectified, summed]
)
def test_parts_written_over_other_parts(step, make):
    held_to_eager(step, make)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", SHARED.values(), ids=SHARED)
@pytest.mark.parametrize(
    "step", [fill_rows, copy_rows, add_rows, set_rows, put_rows, set_by_mask, move_down]
)
def test_elements_that_share_memory(step, make):
    held_to_eager(step, make)


@pytest.mark.parametrize("mask", [[[1, 1, 1], [1, 0, 0]], [[0, 0, 1], [1, 0, 1]]])
def test_masked_scatter_of_elements_that_share_memory(mask):
    def f(a, mask, source):
        return a.masked_scatter_(mask, source)

    compiled = torch.compile(f)
    mask = torch.tensor(mask, dtype=torch.bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            left, right = [torch.arange(4.0).as_strided((2, 3), (1, 1)) for _ in range(2)]
            assert torch.equal(
                f(left, mask, torch.arange(10.0, 16.0)),
                compiled(right, mask, torch.arange(10.0, 16.0)),
            )


@pytest.mark.filterwarnings("ignore:An output with one or more elements")
@pytest.mark.parametrize("of", [lambda p: p.detach(), lambda p: p[1:]])
def test_an_out_that_is_resized_in_the_memory_of_a_tensor_from_outside(of):
    held = torch.zeros(5)

    @torch.compile
    def step(a):
        torch.add(a, 1, out=of(held))

    for k in range(4):
        step(torch.full((3,), float(k)))
        assert (held == k + 1).sum() == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda held: copy.deepcopy(held),
        lambda held: torch.from_numpy(held.numpy().copy()),
        lambda held: torch.tensor(held.tolist()),
    ],
)
def test_rows_of_a_new_table_are_shrunk_from_its_own_numbers(make):
    held, rows = torch.tensor([[3.0, 4.0], [0.0, 0.5]]), torch.tensor([0, 1])

    @torch.compile
    def step(x):
        return torch.nn.functional.embedding(rows, make(held), max_norm=1.0) + x

    for k in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = step(torch.full((2,), float(k)))
        torch.testing.assert_close(made, torch.tensor([[0.6, 0.8], [0.0, 0.5]]) + k)
