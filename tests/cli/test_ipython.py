"""Pellucid in an interactive session: magics, short tracebacks, a watch that is on from the start."""

import builtins
import subprocess
import sys

import pytest

import pellucid as torch
from pellucid.cli import notebook
from pellucid.core.display import notebook as display
from pellucid.debug import watching
from pellucid.errors import full_text


class Shell:
    """What the extension uses of IPython's shell."""

    def __init__(self):
        self.magics, self.user_ns, self.shown, self.compile = {}, {"torch": torch}, [], self
        # counted on before the cell 7 runs, as by IPython 9
        self.execution_count, self.numbers = 8, []
        self.user_ns["In"] = [""] * 8

    def register_magic_function(self, function, kind, name):
        self.magics[name] = function

    def set_custom_exc(self, kinds, handler):
        self.handler = handler

    def format_code_name(self, file):
        return ("Cell", "In[7]") if file == "cell.py" else None

    def showtraceback(self, told, tb_offset=None):
        self.shown.append(told)

    def run_cell(self, text):
        self.numbers.append(self.execution_count)
        try:
            exec(compile(text, "cell.py", "exec"), self.user_ns)
        except Exception as error:
            sys.last_value = error
            self.handler(self, type(error), error, error.__traceback__)


@pytest.fixture
def shell(monkeypatch):
    made = Shell()
    monkeypatch.setattr(builtins, "get_ipython", lambda: made, raising=False)
    monkeypatch.setattr(watching, "_current", [])
    monkeypatch.setattr(display, "cell_name", None)
    vars(sys).pop("last_value", None)
    notebook.begin()
    yield made
    torch.debug.watch(False)
    vars(sys).pop("last_value", None)


def test_why_a_gradient_is_none_has_an_answer_without_asking_for_notes(shell):
    shell.run_cell(
        "w = torch.ones(2, requires_grad=True)\n(w.detach() * torch.ones(2, requires_grad=True)).sum().backward()"
    )
    found = shell.magics["explain"]("w.grad")
    assert found.cause == "detached" and "cell In[7], line 2" in str(found)


def test_the_notes_end_by_themselves(shell):
    notes = watching.current()
    notes.left = 3
    shell.run_cell("x = torch.ones(2, requires_grad=True)\nfor _ in range(9): x * 2")
    assert not notes.active and notes.left == 0


def test_the_traceback_of_a_mistake_has_only_the_users_frames(shell):
    shell.run_cell("net = torch.nn.Sequential(torch.nn.Linear(3, 2))\nnet(torch.ones(2, 5))")
    ((kind, error, frames),) = shell.shown
    files = []
    while frames is not None:
        files.append(frames.tb_frame.f_code.co_filename)
        frames = frames.tb_next
    assert kind is RuntimeError and files == [__file__, "cell.py"]
    assert "cell In[7], line 2" in full_text(error)
    assert shell.magics["explain"]("").cause == "shape-error"


def test_other_errors_are_left_alone(shell):
    shell.run_cell("1 / 0")
    ((kind, error, frames),) = shell.shown
    assert kind is ZeroDivisionError and frames is error.__traceback__


def test_check_a_cell(shell):
    result = shell.magics["check"](
        "--engine pellucid", "p = torch.zeros(4, 1)\nx = ((p - torch.zeros(4)) ** 2).mean()"
    )
    assert [f.name for f in result.findings] == ["mutual-broadcast"]
    assert "cell In[7], line 3" in str(result) and "cell In[7], line 3" in result._repr_html_(), (
        "below the line of the magic"
    )
    assert shell.numbers == [7] and shell.execution_count == 8
    assert not shell.magics["check"](
        "--engine pellucid --ignore PL1", "x = p - torch.zeros(4)"
    ).findings
    with pytest.raises(ValueError, match="--nope"):
        shell.magics["check"]("--nope", "1")


def test_explain_runs_a_cell_first(shell):
    found = shell.magics["explain"](
        "v.grad", "v = torch.ones(2, requires_grad=True)\n(v * 0).sum().backward()"
    )
    assert found.cause == "times-zero"
    assert shell.magics["explain"]("v memory") is not None
    with pytest.raises(ValueError, match="no exception"):
        shell.magics["explain"]("")


def test_loading_twice_changes_nothing(shell):
    before = dict(shell.magics)
    torch.load_ipython_extension(shell)
    assert shell.magics == before


@pytest.mark.parametrize(("variable", "cause"), [("1", "detached"), ("0", "None")])
def test_the_python_prompt(variable, cause):
    import os

    program = "import pellucid as t\nw = t.ones(2, requires_grad=True)\n(w.detach() * t.ones(2, requires_grad=True)).sum().backward()\nprint(t.debug.watching.current() and t.explain(w).cause)\n"
    env = {**os.environ, "PELLUCID_WATCH": variable}
    done = subprocess.run(
        [sys.executable, "-i", "-q"], input=program, capture_output=True, text=True, env=env
    )
    assert done.stdout.split()[-1:] == [cause], done.stderr


def test_cells_with_our_magics_are_code_of_a_notebook_that_is_run():
    assert display._plain("%%check --select PL1\nx = 1") == "#%%check --select PL1\nx = 1"
    assert display._plain("%%explain w.grad\nx = 1") == "#%%explain w.grad\nx = 1"
    assert display._plain("%explain w.grad") == "pass  # %explain w.grad"
