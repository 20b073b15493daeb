"""The package's shape: who imports whom, as the table in docs/architecture.md has it, and how long
files may be.

Every import statement counts, those inside functions too: a circle that is hidden in a function is
still a circle.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "pellucid"
DOCUMENT = ROOT / "docs" / "architecture.md"
FILES = sorted(PACKAGE.rglob("*.py"))

LINES_PER_FILE = 800
FILES_PER_FOLDER = 16  # besides `__init__.py`
# Folders with more files, because PyTorch's have one file or name for each of these.
PYTORCHS_SHAPE = {"", "distributed", "distributions", "fx", "nn/modules", "optim", "utils"}
LINES_OF_CODE_OF_ENGINE = 2600
BESIDE_THE_ENGINE = {"display", "streams", "transforms", "tracing"}  # folders and files of core

# A reader of a compiled step's path meets all of these: no two classes of theirs share a name.
ENGINE_AND_COMPILER = ("core", "ir", "llvm", "kernels", "compiler", "arrays", "ops", "aten")
STANDARD_TWICE = {
    "Function",  # of autograd, and of LLVM
    "Generator",  # the stream, and PyTorch's class, which is one
    "Level",  # of each transform, one after the other on one stack
}

# Packages outside the standard library, and the only layers that may import them (None: everybody).
OUTSIDE = {
    "numpy": None,
    "ml_dtypes": None,
    "llvmlite": {"llvm"},
    "opt_einsum": {"ops", "api"},
    "scipy": {"arrays", "ops", "api", "kernels", "distributions", "nn"},
    "safetensors": {"interop"},
    "threadpoolctl": {"kernels"},
    "rich": {"debug", "cli"},
    "onnx": {"onnx"},
    "IPython": {"debug"},
    "lightning": {"check"},
    "pytorch_lightning": {"check"},
    "transformers": {"check"},
    "typing_extensions": {"data"},  # for type checkers only
    "tensorboard": {"utils"},
    "mpi4py": {"distributed"},
    "tabulate": {"fx"},
    "pydot": {"fx"},
    "PIL": {"_torchvision"},
    "sympy": {"utils"},  # where a program uses torch.utils._sympy
    "mpmath": {"utils"},  # comes with sympy
}


def name_of(path, package=PACKAGE):
    """Dotted name of a module from its path; a package's `__init__` has the package's name."""
    parts = [package.name, *path.relative_to(package).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path, package=PACKAGE):
    """(imported dotted name, line) for every import statement of a file, relative ones resolved."""
    return _imports_of(path, package)


@cache
def _imports_of(path, package):
    return tuple(_statements_of(path, package))


def _statements_of(path, package):
    name = name_of(path, package)
    inside = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = (
                inside.split(".")[: len(inside.split(".")) - node.level + 1] if node.level else []
            )
            base += [node.module] if node.module else []
            for alias in node.names:
                yield ".".join([*base, alias.name]), node.lineno


def layer_of(name):
    """The second component of a module's name: what the table has rows for; the root itself is
    `pellucid`.
    """
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def read_table(text):
    """Rank of every name in the table's second column, from the rows between the markers."""
    body = text.split("<!-- layers -->")[1].split("<!-- end of layers -->")[0]
    ranks = {}
    for row in body.splitlines():
        cells = [cell.strip() for cell in row.split("|")[1:-1]]
        if len(cells) >= 2 and cells[0].isdecimal():
            for name in re.findall(r"`(\w+)`", cells[1]):
                assert name not in ranks, f"{name} stands twice in the table"
                ranks[name] = int(cells[0])
    return ranks


def violations(files, ranks, package=PACKAGE):
    """Sentences about imports that do not go to a lower layer."""
    layers = {layer_of(name_of(path, package)) for path in files}
    found = []
    for path in files:
        name = name_of(path, package)
        mine = layer_of(name)
        if mine not in ranks:
            found.append(f"{name}: no row for {mine!r} in the table")
            continue
        for target, line in imports_of(path, package):
            if target.split(".")[0] != package.name:
                continue
            # `from pellucid import nn` reaches a layer; `from pellucid import zeros` the root
            # itself.
            theirs = layer_of(target) if layer_of(target) in layers else package.name
            if theirs != mine and ranks.get(theirs, 99) >= ranks[mine]:
                found.append(f"{name}, line {line}: {mine} imports {theirs} ({target})")
    return found


def circles(graph):
    """Groups of nodes that reach each other (Tarjan's algorithm, iterative)."""
    index, low, on_stack, stack, groups = {}, {}, set(), [], []
    for start in graph:
        if start in index:
            continue
        work = [(start, iter(graph[start]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, successors = work[-1]
            for successor in successors:
                if successor not in graph:
                    continue
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(graph[successor])))
                    break
                if successor in on_stack:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = [stack.pop()]
                    while group[-1] != node:
                        group.append(stack.pop())
                    on_stack -= set(group)
                    if len(group) > 1:
                        groups.append(sorted(group))
    return sorted(groups)


def module_graph(files, package=PACKAGE):
    """Which module imports which, by dotted name: the module itself, not the packages it lies in."""
    modules = {name_of(path, package) for path in files}
    graph = {}
    for path in files:
        targets = set()
        for target, _ in imports_of(path, package):
            while target and target not in modules:
                target = target.rpartition(".")[0]
            targets.add(target)
        graph[name_of(path, package)] = targets - {"", name_of(path, package)}
    return graph


@pytest.fixture(scope="module")
def ranks():
    return read_table(DOCUMENT.read_text(encoding="utf-8"))


def test_imports_go_to_lower_layers_only(ranks):
    assert violations(FILES, ranks) == []


def test_every_row_of_the_table_exists(ranks):
    missing = [
        n
        for n in ranks
        if n != "pellucid" and not ((PACKAGE / n).is_dir() or (PACKAGE / f"{n}.py").is_file())
    ]
    assert missing == []


def test_no_circles():
    assert circles(module_graph(FILES)) == []


def test_nobody_inside_imports_the_root():
    users = [
        f"{name_of(path)}, line {line}"
        for path in FILES
        for target, line in imports_of(path)
        if target == "pellucid" and layer_of(name_of(path)) not in ("pellucid", "__main__", "cli")
    ]
    assert users == []


def test_outside_packages_are_imported_where_they_belong():
    wrong = []
    for path in FILES:
        mine = layer_of(name_of(path))
        for target, line in imports_of(path):
            top = target.split(".")[0]
            if top in sys.stdlib_module_names or top == "pellucid":
                continue
            allowed = OUTSIDE.get(top, set())
            if allowed is not None and mine not in allowed:
                wrong.append(f"{name_of(path)}, line {line}: {mine} imports {top}")
    assert wrong == []


def test_files_stay_short():
    long = {
        name_of(path): count
        for path in FILES
        if (count := path.read_text(encoding="utf-8").count("\n")) > LINES_PER_FILE
    }
    assert long == {}


def test_folders_stay_short():
    counts = Counter(
        path.parent.relative_to(PACKAGE).as_posix().replace(".", "")
        for path in FILES
        if path.stem != "__init__"
    )
    larger = {folder for folder, count in counts.items() if count > FILES_PER_FOLDER}
    assert larger == PYTORCHS_SHAPE


def lines_of_code(text):
    """Logical lines: statements and headers of blocks, however the formatter lays them out; no docstrings."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    count = sum(token.type == tokenize.NEWLINE for token in tokens)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            count -= ast.get_docstring(node, clean=False) is not None
    return count


def test_a_class_of_engine_and_compiler_has_a_name_of_its_own():
    places = {}
    for path in FILES:
        if layer_of(name_of(path)) in ENGINE_AND_COMPILER:
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places.setdefault(node.name, []).append(name_of(path))
    assert len(places) > 200
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert twice.keys() == STANDARD_TWICE, twice


def test_the_engine_stays_small():
    files = [
        path
        for path in (PACKAGE / "core").rglob("*.py")
        if path.relative_to(PACKAGE / "core").with_suffix("").parts[0] not in BESIDE_THE_ENGINE
    ]
    assert len(files) > 5
    assert (
        sum(lines_of_code(path.read_text(encoding="utf-8")) for path in files)
        <= LINES_OF_CODE_OF_ENGINE
    )


def test_lines_of_code_are_those_that_hold_code():
    text = '"""Doc.\n\nMore.\n"""\n\n# comment\nx = (\n    1,\n)  # three lines\n\n\ndef f():\n    """Doc."""\n    return x\n'
    assert lines_of_code(text) == 3


def test_import_loads_nothing_heavy():
    code = "import sys, pellucid; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "numpy" in loaded
    heavy = {
        "llvmlite",
        "scipy",
        "torch",
        "rich",
        "opt_einsum",
        "safetensors",
        "onnx",
        "IPython",
        "multiprocessing",
    }
    assert loaded & heavy == set()


# The checks themselves must be able to fail.
@pytest.fixture
def toy(tmp_path):
    package = tmp_path / "toy"

    def write(**files):
        for name, text in files.items():
            path = package / (name.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            (path.parent / "__init__.py").touch()
        (package / "__init__.py").touch()
        return sorted(package.rglob("*.py")), package

    return write


def test_an_upward_import_is_found_also_inside_a_function(toy):
    ranks = {"low": 0, "high": 1, "beside": 1, "toy": 2}
    files, package = toy(
        low__a="def f():\n    from ..high import b\n",
        high__b="from ..low.a import f\n",
        beside__c="from toy.high import b\n",
    )
    assert violations(files, ranks, package) == [
        "toy.beside.c, line 1: beside imports high (toy.high.b)",
        "toy.low.a, line 2: low imports high (toy.high.b)",
    ]


def test_a_layer_without_a_row_is_found(toy):
    files, package = toy(new__a="")
    assert violations(files, {"toy": 0}, package)[0] == "toy.new: no row for 'new' in the table"


def test_a_circle_is_found(toy):
    files, package = toy(
        low__a="from . import b\n",
        low__b="def f():\n    import toy.low.c\n",
        low__c="from .a import x\n",
        low__d="from .a import x\n",
    )
    assert circles(module_graph(files, package)) == [["toy.low.a", "toy.low.b", "toy.low.c"]]


def test_the_table_is_read_by_row():
    text = "<!-- layers -->\n| rank | parts |\n|---|---|\n| 0 | `a` `b` |\n| 1 | `c` |\n<!-- end of layers -->"
    assert read_table(text) == {"a": 0, "b": 0, "c": 1}
