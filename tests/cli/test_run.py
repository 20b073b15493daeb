"""`pellucid run X` against `python X`: the same output, errors and exit status for whatever X does."""

import os
import signal
import subprocess
import sys
import textwrap
import traceback
import zipfile

import pytest

from pellucid import _version
from pellucid.cli.run import script_frames

FACTS = """
    import __main__, os, sys
    print(sys.argv, __name__, __file__, sys.path[0])
    print(__main__.__dict__ is globals(), __spec__, __package__, type(__builtins__).__name__, type(__loader__).__name__)
"""


def call(*arguments, cwd, stdin=""):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        env=environment,
    )


def run(*arguments, cwd, stdin=""):
    return call("-m", "pellucid", "run", *arguments, cwd=cwd, stdin=stdin)


@pytest.fixture
def write(tmp_path):
    def write(text, name="script.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return write


def assert_same(mine, theirs):
    assert (mine.stdout, mine.stderr, mine.returncode) == (
        theirs.stdout,
        theirs.stderr,
        theirs.returncode,
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(FACTS, id="argv, path and __main__"),
        pytest.param("import sys; sys.exit()", id="exit"),
        pytest.param("import sys; sys.exit(7)", id="exit with a number"),
        pytest.param("import sys; sys.exit('went wrong')", id="exit with a message"),
        pytest.param("def f(n):\n    return 1 / n\n\nf(0)\n", id="uncaught error"),
        pytest.param(
            "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError(3) from e\n",
            id="cause",
        ),
        pytest.param("def f(:\n", id="syntax error"),
        pytest.param("import missing_module", id="missing module"),
        pytest.param(
            "import sys; sys.excepthook = lambda *e: print(e[0], e[2].tb_lineno); 1 / 0",
            id="own hook",
        ),
        pytest.param(
            "import atexit; atexit.register(lambda: print(__name__, FACT)); FACT = 3",
            id="exit handler",
        ),
        pytest.param(
            "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))) is A)",
            id="pickle",
        ),
        pytest.param("x: int = 3\nprint(__annotations__)", id="annotations"),
        pytest.param("import beside; print(beside.VALUE)", id="module beside the script"),
        pytest.param("raise SystemExit(None)", id="SystemExit raised"),
        pytest.param("import os; os.abort if 0 else os._exit(5)", id="_exit"),
    ],
)
def test_script_behaves_as_under_python(write, tmp_path, text):
    write("VALUE = 42", "folder/beside.py")
    script = write(text, "folder/script.py")
    arguments = [script.relative_to(tmp_path), "--help", "-m", "x y"]
    assert_same(run(*arguments, cwd=tmp_path), call(*arguments, cwd=tmp_path))


def test_short_form_without_the_word_run(write, tmp_path):
    script = write(FACTS)
    assert_same(
        call("-m", "pellucid", script, "-c", cwd=tmp_path), call(script, "-c", cwd=tmp_path)
    )


def test_script_found_through_a_link_imports_from_its_own_folder(write, tmp_path):
    write("VALUE = 1", "real/beside.py")
    script = write("import beside, sys; print(sys.path[0])", "real/script.py")
    link = tmp_path / "link.py"
    link.symlink_to(script)
    assert_same(run(link, cwd=tmp_path), call(link, cwd=tmp_path))


def test_module(write, tmp_path):
    write("", "package/__init__.py")
    write(
        """
        import sys
        from . import sibling
        print(sys.argv, __name__, __package__, __spec__.name, sys.path[0], sibling.VALUE)
        raise RuntimeError("from a module")
        """,
        "package/train.py",
    )
    write("VALUE = 5", "package/sibling.py")
    mine = run("-m", "package.train", "--lr", "1", cwd=tmp_path)
    theirs = call("-m", "package.train", "--lr", "1", cwd=tmp_path)
    assert (mine.stdout, mine.returncode) == (theirs.stdout, theirs.returncode)
    # `python -m` shows the frames of its own runner first; what follows is the same.
    assert mine.stderr.splitlines()[1:] == theirs.stderr.splitlines()[-3:]


def test_package_is_run_through_its_main_module(write, tmp_path):
    write("", "package/__init__.py")
    write("import sys; print(sys.argv, __spec__.name)", "package/__main__.py")
    assert_same(run("-m", "package", "a", cwd=tmp_path), call("-m", "package", "a", cwd=tmp_path))


def test_folder_and_archive(write, tmp_path):
    text = "import sys, beside; print(sys.argv, sys.path[0], __spec__.name)"
    write(text, "folder/__main__.py")
    write("", "folder/beside.py")
    assert_same(run("folder", "a", cwd=tmp_path), call("folder", "a", cwd=tmp_path))
    with zipfile.ZipFile(tmp_path / "app.zip", "w") as archive:
        archive.writestr("__main__.py", text)
        archive.writestr("beside.py", "")
    assert_same(run("app.zip", "a", cwd=tmp_path), call("app.zip", "a", cwd=tmp_path))


def test_standard_input_and_code(tmp_path):
    text = "import sys; print(sys.argv, repr(sys.path[0]))"
    assert_same(run("-", "a", cwd=tmp_path, stdin=text), call("-", "a", cwd=tmp_path, stdin=text))
    assert_same(run("-c", text, "--help", cwd=tmp_path), call("-c", text, "--help", cwd=tmp_path))


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["nowhere.py"], 2, "pellucid: can't open file"),
        (["."], 1, "pellucid: can't find '__main__' module in"),
        (["-m", "no_such_module"], 1, "pellucid: No module named no_such_module"),
        (["-m", "no_such_package.x"], 1, "ModuleNotFoundError: No module named 'no_such_package'"),
        (["-m", "json"], 1, "'json' is a package and cannot be directly executed"),
        ([], 2, "give a script"),
        (["--no-such-option"], 2, "unrecognized arguments: --no-such-option"),
    ],
)
def test_nothing_to_run(tmp_path, arguments, status, words):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == status
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_file_name_is_guessed(write, tmp_path):
    write("", "train.py")
    assert "did you mean" in (err := run("trian.py", cwd=tmp_path).stderr) and "/train.py?" in err
    for command in ("check", "explain"):
        done = call("-m", "pellucid", command, "train", cwd=tmp_path)
        assert done.returncode == 2 and "/train.py?" in done.stderr


def test_interrupt_ends_the_process_by_signal(write, tmp_path):
    script = write(
        "import os, signal; os.kill(os.getpid(), signal.SIGINT)\nimport time; time.sleep(60)"
    )
    mine, theirs = run(script, cwd=tmp_path), call(script, cwd=tmp_path)
    assert mine.returncode == theirs.returncode == -signal.SIGINT
    assert mine.stderr.splitlines()[-1] == "KeyboardInterrupt"
    assert "cli" not in mine.stderr


def test_installed_command(write, tmp_path):
    """The console script starts from another sys.path[0] than `python -m`."""
    script = write(FACTS)
    start = "import sys; from pellucid.cli import main; sys.argv = ['pellucid', 'run', *sys.argv[1:]]; sys.exit(main())"
    assert_same(call("-c", start, script, "a", cwd=tmp_path), call(script, "a", cwd=tmp_path))


def test_torch_is_pellucid_inside_and_nowhere_else(write, tmp_path):
    script = write("import torch, pellucid; print(torch is pellucid, torch.__version__)")
    done = run(script, cwd=tmp_path)
    assert done.stdout.startswith("True 2."), done.stderr
    outside = call("-c", "import sys, pellucid; print('torch' in sys.modules)", cwd=tmp_path)
    assert outside.stdout == "False\n"


def test_missing_name_is_the_scripts_own_error(write, tmp_path):
    script = write("def f():\n    import torch.nosuch\n\nf()\n")
    done = run(script, cwd=tmp_path)
    assert done.returncode == 1
    # Python 3.13 underlines calls
    assert [line for line in done.stderr.splitlines() if line.strip(" ~^")] == [
        "Traceback (most recent call last):",
        f'  File "{script}", line 4, in <module>',
        "    f()",
        f'  File "{script}", line 2, in f',
        "    import torch.nosuch",
        "ModuleNotFoundError: No module named 'torch.nosuch'",
        f"Pellucid {_version.__version__} has no torch.nosuch",
    ]


def test_an_error_of_the_library_ends_at_the_users_line(write, tmp_path):
    script = write(
        "import torch\n\ndef f(x):\n    return torch.ones(2, 3) @ x\n\nf(torch.ones(2, 3))\n"
    )
    done = run(script, cwd=tmp_path)
    assert done.stderr.count("  File ") == 2 and done.stderr.splitlines()[-1].startswith("  hint:")


@pytest.mark.parametrize(
    "line",
    [
        "torch.nn.Linear(3, 4).cuda()",
        "torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], learning_rate=0.1)",
        "torch.nn.ModuleList()(1)",
        "torch.tensor([[1, 2], [3]])",
    ],
)
def test_an_error_with_a_hint_shows_no_frame_of_the_library(line):
    code = compile(f"import pellucid as torch\n{line}\n", "train.py", "exec")
    with pytest.raises(Exception) as caught:
        exec(code, {})
    frames = script_frames(caught.value.__traceback__, code, caught.value)
    assert [frame.f_code.co_filename for frame, _ in traceback.walk_tb(frames)] == ["train.py"]
    assert (
        caught.value.__context__ is None
        and caught.value.__notes__[0].splitlines()[-1][:7] == "  hint:"
    )


CHILD = """
import importlib.metadata
found = importlib.metadata.version("torch")
import pellucid, torch
print(torch.__name__, torch is pellucid, found)
"""


def test_processes_that_the_program_starts_have_pellucid_as_torch(write, tmp_path, monkeypatch):
    (tmp_path / "other.py").write_text("")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    script = write(
        f"""
        import subprocess, sys
        own = subprocess.run([sys.executable, "-c", {"import other" + CHILD!r}])
        module = [sys.executable, "-m", "torch.distributed.run", "--help"]
        print(subprocess.run(module, capture_output=True, text=True).stdout.split()[:2], flush=True)
        sys.exit(own.returncode)
        """
    )
    done = run(script, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "torch True 2.13.0+pellucid",
        "['usage:', 'torchrun']",
    ]


def test_a_program_ends_with_the_path_it_began_with(write, tmp_path, monkeypatch):
    from pellucid.interop.children import FOLDER, as_torch_too

    for before in (None, "somewhere"):
        if before is None:
            monkeypatch.delenv("PYTHONPATH", raising=False)
        else:
            monkeypatch.setenv("PYTHONPATH", before)
        with as_torch_too(), as_torch_too():
            within = os.environ["PYTHONPATH"].split(os.pathsep)
            assert within == [str(FOLDER), *([before] if before else [])]
        assert os.environ.get("PYTHONPATH") == before
