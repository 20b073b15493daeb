"""Errors that end a program get a hint where Python's words give none."""

import numpy as np
import pytest

import pellucid as torch
from pellucid import nn
from pellucid.cli.uncaught import with_hint
from pellucid.utils.data import DataLoader, Dataset


class Silent(nn.Module):
    def forward(self, x):
        x * 2


class Masked(nn.Module):
    def forward(self, x, mask):
        return x


Other = type("Masked", (nn.Module,), {"forward": lambda self, x: x})  # of the same name


class Unsized(Dataset):
    def __getitem__(self, index):
        return index


def gradient_of_nothing():
    w = torch.zeros(2)
    0.1 * w.grad


def no_torch():
    raise ModuleNotFoundError("No module named 'torch'", name="torch")


CASES = {
    "no PyTorch": (no_torch, "write `import pellucid as torch`"),
    "layer": (lambda: nn.Linear(2, 3, bais=False), "did you mean 'bias'?"),
    "layer of a base class": (lambda: nn.Conv2d(3, 4, kernel=3), "did you mean 'kernel_size'?"),
    "scheduler": (
        lambda: torch.optim.lr_scheduler.StepLR(None, stepsize=3),
        "did you mean 'step_size'?",
    ),
    "loader": (lambda: DataLoader([1], batchsize=2), "did you mean 'batch_size'?"),
    "function": (lambda: torch.zeros(2, dtpye=torch.float32), "did you mean 'dtype'?"),
    "overloads": (lambda: torch.randn(2, requires_gard=True), "did you mean 'requires_grad'?"),
    "synonym": (lambda: torch.zeros(2).sum(axes=0), "did you mean 'dim'?"),
    "too few arguments": (
        lambda: Masked()(torch.zeros(2)),
        "forward takes (x, mask): pass 'mask' when you call the module",
    ),
    "no return": (
        lambda: nn.functional.mse_loss(Silent()(torch.zeros(2)), torch.zeros(2)),
        "does its forward() return anything?",
    ),
    "no return, checked": (
        lambda: nn.functional.cross_entropy(Silent()(torch.zeros(2)), torch.zeros(2)),
        "does its forward() return anything?",
    ),
    "no length": (lambda: next(iter(DataLoader(Unsized()))), "define __len__(self) in Unsized"),
    "number": (
        lambda: torch.ones(2).sum().item().backward(),
        "call backward() on the tensor",
    ),
    "shape": (lambda: torch.ones(2).shape(), "write x.shape"),
    "loader indexed": (lambda: DataLoader([1])[0], "next(iter(loader))"),
    "no gradient": (gradient_of_nothing, "`pellucid explain` with `--expr w.grad`"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_hint_is_added(name):
    run, expected = CASES[name]
    with pytest.raises((TypeError, AttributeError, ImportError)) as caught:
        run()
    sentence = str(caught.value)
    error = with_hint(caught.value)
    assert error is caught.value and str(error) == sentence
    assert expected in "\n".join(error.__notes__)


@pytest.mark.parametrize(
    "run",
    [lambda: None + 1, lambda: (lambda x: x)(y=1), lambda: next(iter(DataLoader(3)))],
)
def test_errors_of_the_program_are_left_alone(run):
    with pytest.raises((TypeError, AttributeError)) as caught:
        run()
    assert getattr(with_hint(caught.value), "__notes__", None) is None


def test_words_of_numpy_are_no_cause_of_the_words_that_replace_them():
    with pytest.raises(RuntimeError) as caught:
        torch.stack([torch.zeros(2), torch.zeros(3)])
    assert caught.value.__suppress_context__ and caught.value.__cause__ is None


WORDED = {
    "a loss called": (
        lambda: nn.MSELoss(torch.ones(3), torch.ones(3)),
        "criterion = nn.MSELoss(); criterion(input, target)",
    ),
    "numbers stacked": (lambda: torch.stack([1.0, 2.0]), "torch.tensor([...])"),
    "a dtype's name": (lambda: torch.zeros(2, dtype="float32"), "write dtype=torch.float32"),
    "NumPy's dtype": (lambda: torch.zeros(2, dtype=np.int64), "write dtype=torch.int64"),
    "a list of layers": (lambda: nn.Sequential([nn.Linear(2, 1)]), "nn.Sequential(*layers)"),
    "a model for its parameters": (
        lambda: torch.optim.SGD(nn.Linear(2, 1), lr=0.1),
        "pass model.parameters()",
    ),
    "layers for parameters": (
        lambda: torch.optim.SGD(nn.Sequential(nn.Linear(2, 1)), lr=0.1),
        "pass model.parameters()",
    ),
    "a path for a state": (
        lambda: nn.Linear(2, 1).load_state_dict("x.pt"),
        "load_state_dict(torch.load(path))",
    ),
    "a model for its state": (
        lambda: nn.Linear(2, 1).load_state_dict(nn.Linear(2, 1)),
        "load_state_dict(other.state_dict())",
    ),
    "a model for its optimizer": (
        lambda: torch.optim.lr_scheduler.StepLR(nn.Linear(2, 1), 1),
        "pass the optimizer",
    ),
    "a GPU": (lambda: torch.ones(2).to("gpu"), "'cuda' for a GPU"),
}


@pytest.mark.parametrize("name", WORDED)
def test_the_library_says_what_to_write(name):
    run, expected = WORDED[name]
    with pytest.raises((TypeError, RuntimeError)) as caught:
        run()
    assert expected in "\n".join(caught.value.__notes__)
