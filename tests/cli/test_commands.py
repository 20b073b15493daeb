import json
import shutil
import subprocess

import numpy as np
import pytest

from pellucid import _version, cli
from pellucid.cli import completion, doctor


def test_version_both_ways(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--version"])
    assert cli.main(["version"]) == 0
    assert capsys.readouterr().out == f"pellucid {_version.__version__}\n" * 2


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in cli.COMMANDS)])
def test_every_command_explains_itself(capsys, arguments):
    with pytest.raises(SystemExit, match="0"):
        cli.main(arguments)
    out = capsys.readouterr().out
    assert out.startswith("usage: pellucid")
    assert "examples:" in out or arguments == ["version", "--help"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nosuch"], "unknown command 'nosuch'; the commands are run"),
        (["chek"], "did you mean `pellucid check`?"),
        (["train.py"], "to run a script: `pellucid run train.py`"),
        (["version", "x"], "unrecognized arguments: x"),
        (["check", "--explain-rule", "missing-zero-grads"], "did you mean missing-zero-grad"),
    ],
)
def test_unusable_command_lines(capsys, arguments, words):
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)
    assert words in capsys.readouterr().err


def test_alone_it_prints_the_help(capsys):
    assert cli.main([]) == 0
    assert capsys.readouterr().out.startswith("usage: pellucid COMMAND")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "--max-step", "3", "train.py"], "--max-step; did you mean --max-steps?"),
        (["compat", "--pakages", "einops", "train.py"], "did you mean --packages?"),
        (["run", "--learning-rate", "3", "train.py"], "own options come after the script"),
    ],
)
def test_an_unknown_option_is_guessed(capsys, arguments, words):
    with pytest.raises(SystemExit, match="2"):
        cli.main(arguments)
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_completion_knows_commands_options_and_rules(capsys, shell):
    assert cli.main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert all(
        name in text for name in (*cli.COMMANDS, "explain-rule", "mutual-broadcast", "question")
    )


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [("pellucid ch", ["check"]), ("pellucid check --eng", ["--engine"]), ("pellucid check --engine to", ["torch"]),
     ("pellucid explain --question al", ["alive"]), ("pellucid check --select mutual", ["mutual-broadcast"]),
     ("pellucid check --ignore PL10", ["PL101", "PL102"])],
)  # fmt: skip
def test_completion_in_bash(words, expected):
    parts = words.split()
    program = f"{completion.bash()}\nCOMP_WORDS=({words}); COMP_CWORD={len(parts) - 1}; _pellucid; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == expected and not done.stderr


def test_doctor_reports_as_text_and_json(capsys):
    status = cli.main(["doctor", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert status == (0 if report["kernels"]["work"] else 1)
    assert report["pellucid"]["version"] == _version.__version__
    assert report["packages"]["numpy"] == np.__version__
    assert report["threads"]["usable_cores"] >= 1
    assert report["blas"]["name"]
    assert report["blas"].get("libraries") or report["blas"]["why"]
    assert 0 < report["threads"]["share_of_a_core"] <= 1
    cli.main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    for section, values in report.items():
        assert section in lines
        assert sum(line.startswith("  ") for line in lines) >= len(values)


@pytest.mark.parametrize("share", [0.33, 0.95])
def test_doctor_tells_of_a_busy_machine(share, monkeypatch, capsys):
    monkeypatch.setattr(doctor, "_share", lambda: share)
    cli.main(["doctor"])
    out = capsys.readouterr().out
    assert ("this one got 33% of one" in out) == (share < 0.5)


def test_doctor_says_what_is_wrong_when_llvm_does_not_load(monkeypatch, capsys):
    def broken():
        raise OSError("libLLVM is damaged")

    monkeypatch.setattr(doctor.target, "host", broken)
    assert doctor.main([]) == 1
    out = capsys.readouterr().out
    assert "libLLVM is damaged" in out


def test_doctor_notices_wrong_code(monkeypatch):
    monkeypatch.setattr(doctor, "_PROBE", doctor._PROBE.replace("mul", "add"))
    report = doctor.collect()["kernels"]
    assert not report["work"]
    assert report["why"]


def test_doctor_measures_the_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(doctor.cache, "directory", lambda: tmp_path)
    (tmp_path / "a.o").write_bytes(b"x" * 1000)
    (tmp_path / "b.o").write_bytes(b"x" * 24)
    report = doctor._cache()
    assert (report["location"], report["files"], report["bytes"]) == (str(tmp_path), 2, 1024)
    monkeypatch.setattr(doctor.cache, "directory", lambda: None)
    assert doctor._cache()["location"] is None
