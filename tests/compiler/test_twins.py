"""Two tensors on one array, as `p` and `p.detach()`: a compiled step knows both."""

import pytest

import pellucid as torch

p = torch.arange(6.0).reshape(2, 3)
q = p.detach().requires_grad_()


def test_gradients_of_both_are_kept():
    assert p._array is q._array

    def step(x):
        p.t()
        (q * x).sum().backward()
        return q.grad

    found = {}
    for name, run in (("eager", step), ("compiled", torch.compile(step))):
        q.grad = None
        torch.manual_seed(0)
        found[name] = [run(torch.randn(2, 3)).clone() for _ in range(4)]
    for eager, compiled in zip(found["eager"], found["compiled"], strict=True):
        torch.testing.assert_close(compiled, eager)


def test_each_is_returned_as_what_it_is():
    step = torch.compile(lambda x: (p * x, p, q, q.view(-1)))
    for _ in range(3):
        _, first, second, view = step(torch.ones(2, 3))
        assert first is p and second is q
        assert view.requires_grad and view.data_ptr() == q.data_ptr()


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
def test_a_global_that_a_step_deletes_is_gone():
    def step(x):
        global gone
        del gone
        return x + 1

    step = torch.compile(step)
    for _ in range(3):
        globals()["gone"] = 1
        assert step(torch.zeros(())).item() == 1
        assert "gone" not in globals()
        for _ in range(2):
            with pytest.raises(NameError, match="'gone'"):
                step(torch.zeros(()))
