"""`pellucid check` as a command: what it runs, prints, writes and returns."""

import json
import re
import subprocess
import sys
import textwrap

import pytest

from pellucid.check import all_rules
from pellucid.cli import check
from pellucid.cli.command_line import split

BUGGY = """
    import sys
    import torch
    from torch import nn

    print("args", sys.argv[1:], __name__)
    torch.manual_seed(0)
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        print("step", step)
"""


@pytest.fixture
def script(tmp_path):
    def write(text):
        path = tmp_path / "train.py"
        path.write_text(textwrap.dedent(text).lstrip())
        return path

    return write


def run(*arguments, cwd=None):
    command = [sys.executable, "-m", "pellucid", "check", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=cwd)


def test_findings_follow_the_script(script):
    path = script(BUGGY)
    done = run(path, "--epochs", "3", "--help", cwd=path.parent)
    assert (
        done.stdout == "args ['--epochs', '3', '--help'] __main__\nstep 0\nstep 1\nstep 2\nstep 3\n"
    )
    assert done.stderr.startswith(
        "train.py:12: error PL301 [missing-zero-grad]\n    > loss.backward()\n"
    )
    assert "fix: call `optimizer.zero_grad()` once per step" in done.stderr
    assert done.stderr.endswith(
        "pellucid check: 1 finding (1 of severity error) in 4 optimizer steps\n"
    )
    assert done.returncode == 1


def test_json_to_a_file_after_some_steps(script, tmp_path):
    target = tmp_path / "findings.json"
    done = run("--format", "json", "--output", target, "--max-steps", "2", script(BUGGY))
    assert (
        done.stdout == "args [] __main__\nstep 0\n" and done.stderr == "" and done.returncode == 1
    )
    (found,) = json.loads(target.read_text())["findings"]
    assert list(found) == ["rule", "name", "severity", "file", "line", "message", "evidence", "fix"]
    assert (found["name"], found["line"]) == ("missing-zero-grad", 12) and found["file"].endswith(
        "train.py"
    )
    assert found["evidence"]["parameter"] == "model.weight"


def test_json_on_a_line_of_its_own(script):
    done = run("--format", "json", script(BUGGY))
    *printed, last = done.stdout.splitlines()
    assert printed[-1] == "step 3" and done.stderr == ""
    assert [f["line"] for f in json.loads(last)["findings"]] == [12]


def test_rules_are_chosen(script):
    path = script(BUGGY)
    assert run("--ignore", "PL3", path).returncode == 0
    assert run("--select=mutual-broadcast", path).returncode == 0
    path.with_name("pyproject.toml").write_text(
        '[tool.pellucid.check.severity]\nmissing-zero-grad = "warning"\n'
    )
    assert run(path).returncode == 0
    assert run("--strict", path).returncode == 1


def test_a_script_that_fails(script):
    path = script(
        """
        import torch

        def train():
            ((torch.zeros(3, 1) - torch.zeros(3)) ** 2).mean()
            raise ValueError("of the script's own")

        train()
        """
    )
    done = run(path)
    assert done.returncode == 1
    trace, _, rest = done.stderr.partition("ValueError: of the script's own\n")
    assert re.findall(r'File "(.*)", line (\d+)', trace) == [(str(path), "7"), (str(path), "5")]
    assert "[mutual-broadcast]" in rest


@pytest.mark.parametrize(
    ("ending", "status"),
    [("sys.exit(7)", 7), ("sys.exit()", 0), ("sys.exit('sorry')", 1), ("raise SystemExit(0)", 0)],
)
def test_the_scripts_own_exit_status(script, ending, status):
    done = run(script(f"import sys\nprint('x', flush=True)\n{ending}\n"))
    assert done.returncode == status and done.stdout == "x\n"
    assert ("sorry" in done.stderr) == ("sorry" in ending)


def test_a_module(script, tmp_path):
    script(BUGGY)
    done = run("-m", "train", "a", cwd=tmp_path)
    assert (
        done.stdout.startswith("args ['a'] __main__") and "train.py:12: error PL301" in done.stderr
    )


def test_what_cannot_be_run(tmp_path):
    done = run(tmp_path / "missing.py")
    assert done.returncode == 2 and "can't open file" in done.stderr
    broken = tmp_path / "broken.py"
    broken.write_text("x = (1\n")
    done = run(broken)
    assert done.returncode == 1 and "SyntaxError" in done.stderr and "pellucid/" not in done.stderr


def usage_error(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        check.main(list(arguments))
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_usage_errors(capsys, tmp_path):
    assert "give a script" in usage_error(capsys)
    assert "there is no rule 'softmax-before'" in usage_error(
        capsys, "--select", "softmax-before", "x.py"
    )
    assert "there is no rule 'PL9x'" in usage_error(capsys, "--ignore", "PL9x", "x.py")
    assert "--max-steps must be at least 1" in usage_error(capsys, "--max-steps", "0", "x.py")
    assert "there is no rule 'nothing'" in usage_error(capsys, "--explain-rule", "nothing")
    (tmp_path / "pyproject.toml").write_text("[tool.pellucid.check]\nselekt = []\n")
    assert "has no setting 'selekt'" in usage_error(capsys, str(tmp_path / "x.py"))


def test_report(script, tmp_path):
    page = tmp_path / "out.html"
    assert run("--report", page, script(BUGGY)).returncode == 1
    text = page.read_text()
    assert "missing-zero-grad" in text and "mse_loss" in text and "</html>" in text
    assert "Histograms of parameters" in text and "step 0" in text
    other = tmp_path / "other.html"
    assert run("--report", other, "--compare", page, script(BUGGY)).returncode == 1
    assert "loss (out)" in other.read_text()


def test_what_a_run_is_compared_with(capsys, tmp_path):
    page = tmp_path / "page.html"
    assert "--compare needs --report" in usage_error(capsys, "--compare", str(page), "x.py")
    options = ("--report", str(tmp_path / "out.html"), "--compare", str(page), "x.py")
    assert "No such file" in usage_error(capsys, *options)
    page.write_text("<html></html>")
    assert "is no report of pellucid check" in usage_error(capsys, *options)


def test_list_and_pages_of_rules(capsys):
    assert check.main(["--list-rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [rule.id for rule in all_rules()]
    for rule in all_rules():
        assert check.main(["--explain-rule", rule.slug]) == 0
        by_slug = capsys.readouterr().out
        assert check.main(["--explain-rule", rule.id]) == 0
        assert capsys.readouterr().out == by_slug
        title = by_slug.partition("\n")[0]
        assert title.startswith("# ") and title.endswith(f" ({rule.slug}, {rule.id})")


def test_help_has_examples(capsys):
    with pytest.raises(SystemExit) as stop:
        check.main(["--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "examples:" in text and "# pellucid: ignore[" in text


@pytest.mark.parametrize(
    ("line", "own"),
    [
        ("train.py --format json", "train.py"),
        ("--format json train.py --strict", "--format json train.py"),
        ("--format=json --strict train.py -m x", "--format=json --strict train.py"),
        ("--max-steps 5 -m package.train --help", "--max-steps 5 -m package.train"),
        ("--list-rules", "--list-rules"),
    ],
)
def test_what_follows_the_script_is_its_own(line, own):
    words = line.split()
    mine, rest = split(check._parser(), words)
    assert " ".join(mine) == own and [*mine, *rest] == words
