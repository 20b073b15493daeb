"""Notebooks as input of `run`, `check` and `explain`, and the options that all three take."""

import json
import subprocess
import sys

import pytest

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
    cells += [
        {"cell_type": "code", "source": text.splitlines(keepends=True), "outputs": []}
        for text in CELLS
    ]
    path = tmp_path / "lesson.ipynb"
    path.write_text(
        json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})
    )
    return path


def pellucid(*arguments, code=0):
    """What the command prints on (standard output, standard error); a process of its own, since it
    puts Pellucid in PyTorch's place.
    """
    done = subprocess.run(
        [sys.executable, "-m", "pellucid", *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def test_run_a_notebook(lesson):
    assert pellucid("run", lesson)[0].splitlines() == ["None", *["step"] * 5, "done"]


def test_steps_under_both_names(lesson):
    for name in ("--steps", "--max-steps"):
        assert pellucid("run", name, 2, lesson)[0].splitlines() == ["None", "step"]


def test_findings_name_cell_and_line(lesson):
    out, err = pellucid("check", "--steps", 3, "--quiet", lesson, code=1)
    assert (
        "lesson.ipynb: cell 4, line 2: error PL101 [mutual-broadcast]\n    > loss = ((model(" in err
        and not out
    )
    (finding,) = json.loads(pellucid("check", "--format", "json", "--quiet", lesson, code=1)[0])[
        "findings"
    ]
    assert (finding["cell"], finding["line"], finding["name"]) == (4, 2, "mutual-broadcast")


def test_explain_a_notebook(lesson):
    assert (
        "lesson.ipynb: cell 5, line 1" in pellucid("explain", lesson, "--expr", "cut", "--quiet")[0]
    )


def test_arguments_of_the_script_need_no_dashes(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, torch\nprint(sys.argv[1:])\nw = torch.ones(2, requires_grad=True)\n(w * 2).sum().backward()\n"
    )
    for line in (
        ["--expr", "w", script, "--epochs", "1"],
        [script, "--epochs", "--expr", "w", "1"],
    ):
        assert pellucid("explain", *line)[0].startswith("['--epochs', '1']\n")
    assert pellucid("explain", script, "--expr", "w", "--", "--expr", "x")[0].startswith(
        "['--expr', 'x']\n"
    )
    assert pellucid("check", script, "--epochs", "1")[0].startswith("['--epochs', '1']\n")


def test_depends_is_asked_once_for_each_backward(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import torch\nw = torch.ones(3, requires_grad=True)\nloss = (w * 2).sum()\nloss.backward()\n"
    )
    out, err = pellucid("explain", script, "--expr", "loss", "--question", "depends")
    assert (
        err == ""
        and "loss was computed from 1 leaf tensor that requires a gradient, in 2 operations: w"
        in out
    )


def test_what_is_no_notebook(tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_text("[]")
    assert "is not a notebook" in pellucid("run", path, code=1)[1].splitlines()[-1]


def test_traceback_names_cell_and_line(lesson):
    lesson.write_text(
        lesson.read_text()
        .replace("cut = ", "1 / 0; cut = ")
        .replace("import torch", "import pellucid as torch")
    )
    source = notebook.source_of(str(lesson))
    try:
        exec(compile(source, str(lesson), "exec"), {"display": print})
    except NameError:
        pass
    except Exception as error:
        assert 'lesson.ipynb, cell 5", line 1' in notebook.traceback_of(error, error.__traceback__)
    else:
        pytest.fail("it must fail")
