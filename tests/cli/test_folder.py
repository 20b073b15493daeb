"""`pellucid check FOLDER`, colours, and findings that are shown while the script runs."""

import json
import os
import subprocess
import sys

import pytest

from pellucid import cli
from pellucid.check.output import wants_colour
from pellucid.cli import folder

BAD = "import torch\np = torch.ones(4, 1, requires_grad=True)\n((p - torch.ones(4)) ** 2).mean().backward()\n"


@pytest.fixture
def submissions(tmp_path):
    for name, text in {
        "anna/hw.py": BAD,
        "ben/hw.py": "import torch\n",
        "cleo/hw.py": "1 / 0\n",
        "dan/hw.py": "def f(:\n",
        ".venv/x.py": BAD,
        "eve/notes.txt": "x",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "eve" / "hw.ipynb").write_text(
        json.dumps({"cells": [{"cell_type": "code", "source": ["import torch"]}]})
    )
    return tmp_path


def test_a_folder_of_submissions(submissions, capsys):
    assert cli.main(["check", "--jobs", "2", "--format", "json", str(submissions)]) == 1
    rows = {row["script"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(rows) == ["anna/hw.py", "ben/hw.py", "cleo/hw.py", "dan/hw.py", "eve/hw.ipynb"]
    assert [f["name"] for f in rows["anna/hw.py"]["findings"]] == ["mutual-broadcast"] and rows[
        "anna/hw.py"
    ]["errors"] == 1
    assert rows["cleo/hw.py"]["failure"] == "ZeroDivisionError: division by zero"
    assert rows["dan/hw.py"]["failure"].startswith("SyntaxError")
    assert rows["ben/hw.py"]["failure"] is None is rows["eve/hw.ipynb"]["failure"]
    text = folder.table(list(rows.values()))
    assert "anna/hw.py    findings  1       0         mutual-broadcast:3" in text
    assert text.endswith("5 scripts: 2 without findings, 2 failed")


def test_the_table_names_the_cell_of_a_notebook(tmp_path, capsys):
    cells = [{"cell_type": "code", "source": [part]} for part in BAD.splitlines(keepends=True)]
    (tmp_path / "hw.ipynb").write_text(json.dumps({"cells": cells}))
    assert cli.main(["check", str(tmp_path)]) == 1
    assert "mutual-broadcast (cell 3, line 1)" in capsys.readouterr().out


def test_a_script_that_does_not_end(tmp_path, capsys):
    (tmp_path / "a.py").write_text("while True:\n    pass\n")
    assert cli.main(["check", "--timeout", "0.2", str(tmp_path)]) == 1
    assert "did not end within 0.2 s" in capsys.readouterr().out


def test_folders_that_cannot_be_checked(tmp_path, capsys):
    assert cli.main(["check", str(tmp_path)]) == 2
    (tmp_path / "a.py").write_text("")
    assert cli.main(["check", "--format", "sarif", str(tmp_path)]) == 2
    assert "no .py or .ipynb" in (err := capsys.readouterr().err) and "text or json" in err
    (tmp_path / "__main__.py").write_text("")
    assert not folder.is_folder(str(tmp_path))


class Terminal:
    def isatty(self):
        return True


def test_colours_are_for_terminals(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert wants_colour(Terminal()) and not wants_colour(object())
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert wants_colour(object())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colour(Terminal())


def test_findings_while_the_script_runs(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(BAD + "import sys\nprint('after', file=sys.__stderr__)\n")
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    command = [sys.executable, "-m", "pellucid", "check", "--live", str(script)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**environment, "FORCE_COLOR": "1"}
    )
    assert done.returncode == 1, done.stderr
    live, _, rest = done.stderr.partition("after")
    assert "pellucid check: step 0: " in live and "error PL101 [mutual-broadcast]" in live
    assert "\033[1;31merror\033[0m PL101" in rest and "\033[32m    fix:" in rest


def test_a_result_in_a_notebook():
    import pellucid as torch
    from pellucid.check import watching

    with watching() as result:
        ((torch.zeros(4, 1) - torch.zeros(4)) ** 2).mean()
    page = result._repr_html_()
    assert "PL101" in page and "mutual-broadcast" in page and "<b>fix:</b>" in page
    with watching() as result:
        pass
    assert "no findings" in result._repr_html_()
