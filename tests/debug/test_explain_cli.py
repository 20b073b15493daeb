"""`pellucid explain`: what goes where, in which form, with which exit status."""

import argparse
import json
import re
import subprocess
import sys
import textwrap

import pytest

from pellucid import cli
from pellucid.core.source import Line

SCRIPT = """
import sys
import torch
print("begins", *sys.argv[1:])
def train(steps):
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for k in range(steps):
        print("step", k)
        optimizer.zero_grad()
        hidden = model(torch.ones(2, 3)).detach()
        loss = (hidden * torch.ones(1, requires_grad=True)).sum()
        loss.backward()
        optimizer.step()
    return model
model = train(3)
"""
FAILS = """
import torch
w = torch.ones(3, requires_grad=True)
def inner(v):
    hidden = v * 2
    return hidden.backward()
def outer(v):
    kept = [v]
    return inner(kept[0])
outer(w)
"""


@pytest.fixture
def run(tmp_path):
    def run(text, *arguments, name="train.py", check=None):
        (tmp_path / name).write_text(textwrap.dedent(text))
        at = arguments.index("--") if "--" in arguments else len(arguments)
        command = [
            sys.executable,
            "-m",
            "pellucid",
            "explain",
            name,
            *arguments[:at],
            *arguments[at:],
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        if check is not None:
            assert done.returncode == check, done.stderr
        return done

    return run


def test_the_answer_comes_after_the_scripts_own_output(run):
    done = run(
        SCRIPT, "--expr", "model.weight.grad", "--format", "json", "--", "--epochs", "5", check=0
    )
    lines = done.stdout.splitlines()
    assert lines[:4] == ["begins --epochs 5", "step 0", "step 1", "step 2"] and len(lines) == 5
    found = json.loads(lines[-1])
    assert list(found) == ["cause", "file", "line", "text", "fix"]
    assert (
        found["cause"] == "detached" and found["line"] == 11 and found["file"].endswith("train.py")
    )
    assert done.stderr == ""


def test_quiet_and_output(run, tmp_path):
    done = run(SCRIPT, "--expr", "model.weight.grad", "--format", "json", "--quiet", check=0)
    assert json.loads(done.stdout)["cause"] == "detached"
    done = run(
        SCRIPT, "--expr", "model.bias", "--format", "json", "--output", "answer.json", check=0
    )
    assert done.stdout.splitlines()[-1] == "step 2"
    assert json.loads((tmp_path / "answer.json").read_text())["cause"] == "detached"
    done = run(SCRIPT, "--expr", "model.weight.grad", check=0)
    answer = done.stdout[done.stdout.index("cause:") :]
    assert (
        answer.startswith("cause: detached\n")
        and "train.py:11" in answer
        and "\nfix: leave out detach()" in answer
    )


def test_variables_of_functions(run):
    found = json.loads(
        run(SCRIPT, "--expr", "hidden", "--format", "json", "--quiet", check=0).stdout
    )
    assert found["cause"] == "detached"
    found = json.loads(
        run(
            SCRIPT,
            "--expr",
            "loss",
            "--in",
            "train",
            "--question",
            "depends",
            "--format",
            "json",
            "--quiet",
        ).stdout
    )
    assert found["cause"] == "depends" and found["line"] == 12
    assert run(SCRIPT, "--expr", "loss", "--in", "nosuch", "--quiet", check=1).stdout.startswith(
        "cause: cannot-answer"
    )


def test_variables_of_functions_of_other_files(run, tmp_path):
    (tmp_path / "loop.py").write_text(
        "import torch\nclass Trainer:\n    def fit(self):\n        weight = torch.ones(2, requires_grad=True)\n"
        "        loss = (weight.detach() * 2).sum()\n        return loss\n"
    )
    done = run(
        "from loop import Trainer\nTrainer().fit()\n",
        "--expr",
        "weight",
        "--format",
        "json",
        check=0,
    )
    assert json.loads(done.stdout)["cause"] == "no-backward"


def test_steps_end_the_script_early(run):
    done = run(SCRIPT, "--expr", "k", "--in", "train", "--steps", "2")
    assert "step 1" in done.stdout and "step 2" not in done.stdout


def test_exceptions(run):
    done = run(FAILS, "--exception", "--format", "json", check=0)
    assert "Traceback" in done.stderr and "explain.py" not in done.stderr
    found = json.loads(done.stdout)
    assert (found["cause"], found["line"]) == ("nonscalar", 6)
    assert json.loads(run(FAILS, "--format", "json", "--quiet", check=0).stdout) == found
    done = run("import torch\n", "--exception", check=1)
    assert "ended without an exception" in done.stdout


def test_frames_of_the_exception(run):
    for arguments in (["--frame", "0", "--expr", "hidden"], ["--expr", "hidden"]):
        assert (
            json.loads(run(FAILS, *arguments, "--format", "json", "--quiet", check=0).stdout)[
                "cause"
            ]
            == "non-leaf"
        )
    found = run(FAILS, "--frame", "1", "--expr", "kept[0]", "--format", "json", "--quiet", check=0)
    assert json.loads(found.stdout)["cause"] == "no-backward"
    assert "3 of your frames" in run(FAILS, "--frame", "7", "--expr", "v", check=1).stdout
    assert "NameError" in run(FAILS, "--frame", "1", "--expr", "hidden", check=1).stdout


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("nosuch.grad", "NameError"),
        ("model +", "not a Python expression"),
        ("model.nosuch", "AttributeError"),
        ("3", "cannot be explained"),
    ],
)
def test_what_cannot_be_answered(run, expression, words):
    done = run("import torch\nmodel = torch.nn.Linear(1, 1)\n", "--expr", expression, check=1)
    assert words in done.stdout + done.stderr


def test_without_a_question_the_models_are_looked_at(run):
    text = """
    import torch
    class Holder:
        def __init__(self):
            self.net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    def main():
        holder = Holder()
        holder.net[1](torch.ones(1, 2)).sum().backward()
    main()
    """
    done = run(text, check=0)
    assert "cause: not-ancestor" in done.stdout and "holder.net: 2 of 4 parameters" in done.stdout
    assert run("print(1)\n", check=1).stdout.startswith("1\ncause: cannot-answer")


def test_the_end_of_the_script_does_not_end_the_answer(run):
    text = "import sys, torch\nw = torch.ones(1, requires_grad=True)\nsys.exit(3)\n"
    assert run(text, "--expr", "w.grad", check=0).stdout.startswith("cause: no-backward")
    assert "SyntaxError" in run("def f(:\n", "--exception", check=0).stderr


def test_modules_and_missing_scripts(run, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "train.py").write_text(
        "import torch\nw = torch.ones(2, requires_grad=True)\n(w * 2).sum().backward()\n"
    )
    command = [sys.executable, "-m", "pellucid", "explain", "-m", "package.train", "--expr", "w"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("cause: none")
    done = subprocess.run([*command[:4], "nosuch.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "can't open file" in done.stderr


def test_help(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["explain", "--help"])
    out = capsys.readouterr().out
    assert "examples:" in out and "exit status" in out and "--expr" in out


def test_a_terminal_gets_colours(capsys, monkeypatch, tmp_path):
    from pellucid.cli import explain
    from pellucid.debug import Explanation

    script = tmp_path / "train.py"
    script.write_text("x = 1\n")
    found = Explanation(
        "detached", "cut [here]", "leave it out", Line(str(script), 1, "", ""), ["a fact"]
    )
    options = argparse.Namespace(format="text", output=None)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    explain._print(found, options)
    out = capsys.readouterr().out
    out = re.sub(r"\x1b\[\d+m", "", out)
    assert (
        "cut [here]" in out
        and "train.py:1" in out
        and "x = 1" in out
        and "fix: leave it out" in out
    )
