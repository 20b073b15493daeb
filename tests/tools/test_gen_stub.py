"""The stubs are what the registry gives, and type checkers can read them."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def stubs():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import gen_stub
    finally:
        sys.path.pop(0)
    return gen_stub.stubs()


def test_stubs_are_current():
    """In a fresh process: tests may have registered operations of their own in this one."""
    tool = ROOT / "tools" / "gen_stub.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stderr}{done.stdout}"


def test_stubs_are_python_without_undefined_names(stubs):
    for path, text in stubs.items():
        ast.parse(text, filename=str(path))


def members(tree, name):
    (found,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return {node.name for node in found.body if isinstance(node, ast.FunctionDef)}


def test_every_attached_method_is_in_the_stub_of_tensor(stubs):
    from pellucid.core.public import METHODS, PROPERTIES

    (text,) = (text for path, text in stubs.items() if path.name == "tensor.pyi")
    known = members(ast.parse(text), "Tensor")
    named = {name for name in {*METHODS, *PROPERTIES} if callable(METHODS.get(name, property))}
    assert named - known - {"__hash__"} == set()


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("x = torch.zeros(2, 3)\ny: torch.Tensor = (x * 2).sum() + x.exp_().T\n", ""),
        ("x = torch.zeros(2)\nx.exp(base=2)\n", 'Unexpected keyword argument "base"'),
        ("x = torch.zeros(2)\nx.no_such_method()\n", '"Tensor" has no attribute "no_such_method"'),
    ],
)
def test_a_type_checker_reads_them(tmp_path, program, problem):
    pytest.importorskip("mypy")
    script = tmp_path / "program.py"
    script.write_text("import pellucid as torch\n" + program)
    options = [
        "--follow-imports=silent",
        "--ignore-missing-imports",
        "--cache-dir",
        str(tmp_path.parent / "mypy_cache"),
    ]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(script)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    if problem:
        assert problem in done.stdout
    else:
        assert done.returncode == 0, done.stdout
