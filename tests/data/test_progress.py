"""Progress bars: what is written on a terminal and elsewhere, and when."""

import io

import pytest

import pellucid as torch
from pellucid import config
from pellucid.data import bar, progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves when told to; the terminal has 70 columns."""
    time = [100.0]
    monkeypatch.setattr(bar, "_now", lambda: time[0])
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setattr(config, "progress", True)

    def wait(seconds):
        time[0] += seconds

    return wait


def test_a_terminal_shows_one_line(clock):
    out = Terminal()
    shown = progress([1, 2, 3, 4], "train", unit="batch", file=out)
    seen = []
    for x in shown:
        clock(2.0)
        shown.postfix(loss=torch.tensor(0.25 * x, requires_grad=True))
        seen.append(x)
    states = out.getvalue().split("\r")[1:]
    assert seen == [1, 2, 3, 4]
    # as wide as the terminal
    assert states[0] == "train:  25% |#####---------------| 1/4 [00:02<00:06, 2 s/batch, loss="
    assert states[-1].startswith("train: 100% |####################| 4/4 [00:08<00:00, 2 s/batch")
    assert out.getvalue().endswith("\n") and out.getvalue().count("\n") == 1


def test_a_terminal_is_not_redrawn_at_each_item(clock):
    out = Terminal()
    for _ in progress(range(1000), file=out):
        clock(0.001)
    assert 9 <= out.getvalue().count("\r") <= 13


def test_a_shorter_line_covers_the_longer_one(clock):
    out = Terminal()
    with progress(total=2, file=out) as shown:
        shown.postfix(name="a long text")
        clock(1)
        shown.update()
        shown.postfix(name="b")
        clock(1)
        shown.update()
    first, second = out.getvalue().split("\r")[1:3]
    assert (
        len(second) == len(first)
        and second.rstrip()
        == " 100% |####################| 2/2 [00:02<00:00, 1 it/s, name=b]".lstrip()
    )


def test_elsewhere_lines_are_written(clock):
    out = io.StringIO()
    for _ in progress(range(8), "epoch 1", file=out):
        clock(4.0)
    assert out.getvalue().splitlines() == [
        "epoch 1:  38% 3/8 [00:12<00:20, 4 s/it]",
        "epoch 1:  75% 6/8 [00:24<00:08, 4 s/it]",
        "epoch 1: 100% 8/8 [00:32<00:00, 4 s/it]",
    ]


def test_without_a_length(clock):
    out = io.StringIO()
    shown = progress((x for x in range(3)), file=out)
    for _ in shown:
        clock(0.5)
    assert out.getvalue() == "3 it [00:02, 2 it/s]\n"
    with pytest.raises(TypeError, match="has no len"):
        len(shown)


def test_switched_off(monkeypatch):
    monkeypatch.setattr(config, "progress", False)
    out = Terminal()
    shown = progress(range(3), file=out)
    for _ in shown:
        shown.postfix(loss=1)
    assert out.getvalue() == "" and len(shown) == 3


def test_a_loop_that_is_left_ends_the_line(clock):
    out = Terminal()
    for x in progress(range(10), file=out):
        clock(1)
        if x == 3:
            break
    assert " 30% " in out.getvalue() and out.getvalue().endswith("\n")


def test_it_can_be_run_again(clock):
    out = io.StringIO()
    shown = progress(range(2), file=out)
    assert list(shown) == list(shown) == [0, 1]
    assert out.getvalue().count("100% 2/2") == 2


def test_a_loader_and_hours(clock):
    out = io.StringIO()
    loader = torch.utils.data.DataLoader(list(range(6)), batch_size=2)
    for _ in progress(loader, unit="batch", file=out):
        clock(3000)
    assert out.getvalue().splitlines()[0] == " 33% 1/3 [50:00<1:40:00, 3e+03 s/batch]"


def test_no_iterable():
    with pytest.raises(TypeError, match=r"call update\(\)"):
        iter(progress(total=3))
