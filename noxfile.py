"""The Makefile's targets for systems without make, such as Windows:

    pip install nox
    nox -l                             list the sessions
    nox -s test -- tests/core -x       arguments after -- go to pytest (or to the session's program)

Each session makes its own environment under .nox; -R uses it again as it is. tests/test_project.py
holds the sessions to the Makefile's targets.
"""

import shutil
from pathlib import Path

import nox

nox.options.sessions = ["lint", "docs-check", "test"]
nox.options.reuse_existing_virtualenvs = True

TORCH = "torch==2.13.0"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
ORACLE = [
    "expecttest",
    "hypothesis",
    "mpi4py",
    "mpich",
    "onnx",
    "onnxruntime",
    "onnxscript",
    "pytest",
    "pytest-xdist",
    "scipy",
]
LEFT_BEHIND = [
    ".nox", ".venv", ".venv-oracle", ".venv-docs", ".venv-tours", ".venv-wheel",
    "build", "dist", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis",
]  # fmt: skip


def with_torch(session: nox.Session, *packages: str) -> None:
    session.install(TORCH)
    session.install(*(packages or ORACLE))
    session.install("--editable", ".")


@nox.session
def demo(session: nox.Session) -> None:
    """Train a classifier of handwritten digits with an unmodified PyTorch script."""
    session.install("--editable", ".")
    session.run("pellucid", "run", "examples/digits.py")


def run_tests(session: nox.Session, which: str, *where: str) -> None:
    command = ["python", "-m", "pytest", "-n", "2", "--dist", "loadfile", "-m", which]
    session.run(*command, *where, *session.posargs, env=ONE_THREAD)


@nox.session
def test(session: nox.Session) -> None:
    """Run the test suite, in a few minutes."""
    session.install("--editable", ".[dev]")
    run_tests(session, "not ranks and not long")


@nox.session
def long(session: nox.Session) -> None:
    """Run the tests that `test` leaves out: sweeps, whole programs, several ranks."""
    session.install("--editable", ".[dev]")
    run_tests(session, "ranks or long", "tests")


@nox.session
def lint(session: nox.Session) -> None:
    """Check formatting, style and types."""
    session.install("--editable", ".[dev]")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")


@nox.session(name="docs-check")
def docs_check(session: nox.Session) -> None:
    """Check the links and examples of the documents, and the generated stubs."""
    session.install("--editable", ".[dev]")
    session.run("python", "tools/gen_stub.py", "--check")
    session.run(
        "python",
        "-m",
        "pytest",
        "tests/test_docs.py",
        "tests/test_architecture.py",
        *session.posargs,
    )


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation as a site in build/docs."""
    session.install("--editable", ".[docs,mpi]")
    session.run("python", "tools/docs/website.py", "build/docs")


@nox.session
def notebooks(session: nox.Session) -> None:
    """Run the tutorials and store their outputs."""
    session.install("--editable", ".")
    session.run(
        "python",
        "tools/docs/notebooks.py",
        "--write",
        *map(str, sorted(Path("docs/tutorials").glob("*.ipynb"))),
    )


@nox.session
def oracle(session: nox.Session) -> None:
    """Compare with PyTorch."""
    with_torch(session)
    run_tests(session, "oracle", "tests/oracle")


@nox.session
def distributed(session: nox.Session) -> None:
    """Run every collective on 2, 3 and 4 ranks, with faults, next to PyTorch's gloo."""
    with_torch(session)
    tests = ["tests/distributed", "tests/oracle/test_distributed.py"]
    session.run(
        "python",
        "-m",
        "pytest",
        *tests,
        *session.posargs,
        env=ONE_THREAD | {"PELLUCID_TEST_RANKS": "2,3,4"},
    )


@nox.session
def torchsuite(session: nox.Session) -> None:
    """Run PyTorch's own unit tests: nox -s torchsuite -- FOLDER [options]."""
    if not session.posargs:
        session.error("name the folder of PyTorch's unit tests: nox -s torchsuite -- FOLDER")
    with_torch(session)
    folder, *options = session.posargs
    Path("build").mkdir(exist_ok=True)
    command = ["python", f"{folder}/run.py", "--path", ".", "--json", "build/torchsuite.json"]
    session.run(
        *command,
        *(options or ["--limit", "120", "--budget", "900"]),
        env=ONE_THREAD | {"IMPL": "pellucid"},
    )
    session.run(
        "python",
        "tools/torchsuite_floor.py",
        "build/torchsuite.json",
        "tests/oracle/torchsuite.json",
    )


@nox.session
def tours(session: nox.Session) -> None:
    """Run libraries written for PyTorch, with PyTorch and with Pellucid."""
    with_torch(session, "pytest", "-r", "tests/oracle/tours/requirements.txt")
    session.run(
        "python",
        "-m",
        "pytest",
        "-m",
        "oracle",
        "tests/oracle/test_tours.py",
        *session.posargs,
        env=ONE_THREAD,
    )


@nox.session
def fuzz(session: nox.Session) -> None:
    """Run random operations, programs and files: nox -s fuzz -- --seconds 60 --seed 7."""
    with_torch(session)
    session.run(
        "python", "tests/fuzz/run.py", *(session.posargs or ["--seconds", "60"]), env=ONE_THREAD
    )


@nox.session
def bench(session: nox.Session) -> None:
    """Measure speed, side by side with PyTorch."""
    with_torch(session)
    session.run("python", "benchmarks/run.py", *session.posargs)


@nox.session
def stub(session: nox.Session) -> None:
    """Generate the stubs again."""
    session.install("--editable", ".[dev]")
    session.run("python", "tools/gen_stub.py")


@nox.session(venv_backend="none")
def clean(session: nox.Session) -> None:
    """Remove the environments and everything that tools left behind."""
    for name in LEFT_BEHIND:
        shutil.rmtree(name, ignore_errors=True)
