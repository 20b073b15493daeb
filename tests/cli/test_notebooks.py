"""Notebooks as input of `run`, `check` and `explain`, and the options that all three take."""

import json

import pytest

from pellucid import cli
from pellucid.core.display import notebook

CELLS = [
    "%matplotlib inline\nimport torch\n!ls -l\nfiles = !ls\nprint(files)",
    "%%bash\necho not python",
    "%%time\ntorch.manual_seed(0)\nmodel = torch.nn.Linear(3, 1)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\nmodel.weight?",
    (
        "for _ in range(5):\n    loss = ((model(torch.randn(8, 3)) - torch.randn(8)) ** 2).mean()\n    optimizer.zero_grad()\n    loss.backward()\n"
        "    optimizer.step()\n    print('step')\ndisplay('done')"
    ),
    "cut = (model.weight.detach() * 2).sum()",
]


@pytest.fixture
def lesson(tmp_path):
    cells = [{"cell_type": "markdown", "source": ["# A lesson"]}]
    cells += [{"cell_type": "code", "source": text.splitlines(keepends=True), "outputs": []} for text in CELLS]
    path = tmp_path / "lesson.ipynb"
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}))
    return path


@pytest.fixture(autouse=True)
def own_main(monkeypatch):
    import sys

    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


def test_run_a_notebook(lesson, capsys):
    assert cli.main(["run", str(lesson)]) == 0
    assert capsys.readouterr().out.splitlines() == ["None", *["step"] * 5, "done"]


def test_steps_under_both_names(lesson, capsys):
    for name in ("--steps", "--max-steps"):
        assert cli.main(["run", name, "2", str(lesson)]) == 0
        assert capsys.readouterr().out.splitlines() == ["None", "step"]


def test_findings_name_cell_and_line(lesson, capsys):
    assert cli.main(["check", "--steps", "3", "--quiet", str(lesson)]) == 1
    shown = capsys.readouterr()
    assert "lesson.ipynb: cell 4, line 2: error PL101 [mutual-broadcast]\n    > loss = ((model(" in shown.err and not shown.out
    assert cli.main(["check", "--format", "json", "--quiet", str(lesson)]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["cell"], finding["line"], finding["name"]) == (4, 2, "mutual-broadcast")


def test_explain_a_notebook(lesson, capsys):
    assert cli.main(["explain", str(lesson), "--expr", "cut", "--quiet"]) == 0
    assert "lesson.ipynb: cell 5, line 1" in capsys.readouterr().out


def test_arguments_of_the_script_need_no_dashes(tmp_path, capsys):
    script = tmp_path / "train.py"
    script.write_text("import sys, torch\nprint(sys.argv[1:])\nw = torch.ones(2, requires_grad=True)\n(w * 2).sum().backward()\n")
    for line in (["--expr", "w", str(script), "--epochs", "1"], [str(script), "--epochs", "--expr", "w", "1"]):
        assert cli.main(["explain", *line]) == 0
        assert capsys.readouterr().out.startswith("['--epochs', '1']\n")
    assert cli.main(["explain", str(script), "--expr", "w", "--", "--expr", "x"]) == 0
    assert capsys.readouterr().out.startswith("['--expr', 'x']\n")
    assert cli.main(["check", str(script), "--epochs", "1"]) == 0
    assert capsys.readouterr().out.startswith("['--epochs', '1']\n")


def test_depends_is_asked_once_for_each_backward(tmp_path, capsys):
    script = tmp_path / "train.py"
    script.write_text("import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * 2).sum()\nloss.backward()\n")
    assert cli.main(["explain", str(script), "--expr", "loss", "--question", "depends"]) == 0
    shown = capsys.readouterr()
    assert shown.err == "" and "loss was computed from 1 leaf tensor that requires a gradient, in 2 operations: w" in shown.out


def test_what_is_no_notebook(tmp_path, capsys):
    path = tmp_path / "x.ipynb"
    path.write_text("[]")
    with pytest.raises(SyntaxError, match="is no notebook"):
        cli.main(["run", str(path)])


def test_traceback_names_cell_and_line(lesson):
    lesson.write_text(lesson.read_text().replace("cut = ", "1 / 0; cut = "))
    source = notebook.source_of(str(lesson))
    try:
        exec(compile(source, str(lesson), "exec"), {"display": print})
    except NameError:
        pass
    except Exception as error:
        assert 'lesson.ipynb, cell 5", line 1' in notebook.traceback_of(error, error.__traceback__)
    else:
        pytest.fail("it must fail")
