"""Checks that ride along with a training that somebody else runs."""

import subprocess
import sys
import textwrap

import pytest

import pellucid as torch
from pellucid.check import callbacks, watching


def train(attached, steps=6):
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    attached.begin()
    for _ in range(steps):
        loss = ((model(torch.randn(8, 3)) - torch.randn(8)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        attached.stepped()
    attached.end()
    return attached.result


def test_it_ends_with_the_training_or_after_enough_steps(capsys):
    result = train(callbacks.Attached(engine="pellucid"))
    assert result.steps == 6 and [f.name for f in result.findings] == ["mutual-broadcast"]
    assert "PL101" in capsys.readouterr().err
    assert train(callbacks.Attached(2, engine="pellucid", quiet=True)).steps == 2
    assert not capsys.readouterr().err
    callbacks.Attached().end()  # which has not begun


class Board:
    def __init__(self):
        self.points = []

    def add_scalar(self, name, value, step):
        self.points.append((name, value, step))


class Run:
    def __init__(self):
        self.points = []

    def log(self, values, step):
        self.points += [(name, value, step) for name, value in values.items()]


def test_series_for_tensorboard_and_wandb():
    result = train(callbacks.Attached(engine="pellucid", measures=True, quiet=True))
    board, run = Board(), Run()
    assert (
        callbacks.export(result, board) == callbacks.export(result, run) == len(board.points) > 12
    )
    assert board.points == run.points
    names = {name for name, _, _ in board.points}
    assert "check/loss" in names and any(n.startswith("check/gradient_norms/") for n in names)
    assert [step for _, _, step in run.points] == sorted(step for _, _, step in run.points)
    with pytest.raises(ValueError, match="neither"):
        callbacks.export(result, object())
    with watching() as unmeasured:
        pass
    with pytest.raises(ValueError, match="measures=True"):
        callbacks.export(unmeasured, board)


LIGHTNING = """
    import sys, types
    class Callback:
        pass
    home = types.ModuleType("lightning.pytorch.callbacks"); home.Callback = Callback
    sys.modules.update({"lightning": types.ModuleType("lightning"), "lightning.pytorch": types.ModuleType("lightning.pytorch"),
                        "lightning.pytorch.callbacks": home})
    hf = types.ModuleType("transformers"); hf.TrainerCallback = Callback
    sys.modules["transformers"] = hf
    import pellucid as torch
    from pellucid.check import callbacks
    def work():
        ((torch.zeros(4, 1) - torch.zeros(4)) ** 2).mean()
    one = callbacks.lightning(5, quiet=True)
    assert isinstance(one, Callback)
    one.on_fit_start(None, None); work(); one.on_train_batch_end(None, None, None, None, 0); one.on_fit_end(None, None)
    two = callbacks.transformers(quiet=True)
    two.on_train_begin(None, None, None, model=None); work(); two.on_step_end(None, None, None); two.on_train_end(None, None, None)
    three = callbacks.lightning(quiet=True)
    three.on_fit_start(None, None); three.on_exception(None, None, ValueError("x"))
    print([f.name for c in (one, two) for f in c.result.findings], three.result.failure)
"""


def test_the_hooks_of_both_trainers():
    """With stand-ins for the base classes; tests/oracle has Lightning itself."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LIGHTNING)], capture_output=True, text=True
    )
    assert done.stdout == "['mutual-broadcast', 'mutual-broadcast'] x\n", done.stderr
