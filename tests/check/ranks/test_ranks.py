"""Every rule of several ranks on its scripts: what the marked line says is found, and correct twins
stay silent.
"""

import importlib.metadata
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pellucid.check import Settings, all_rules
from pellucid.check.ranks import merge
from pellucid.check.ranks.rule import RankRule

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SCRIPTS = sorted((HERE / "scripts").glob("*/*.py"))
CORRECT = sorted((HERE / "correct").glob("*.py"))
RULES = [rule for rule in all_rules() if issubclass(rule, RankRule)]
MARK = re.compile(r"# <- finding(?:: ([\w, -]+))?")
ALONE = {"rank-failed/buggy"}  # a rank ends: not in the processes of the others

pytestmark = pytest.mark.ranks
THOROUGH = "," in os.environ.get("PELLUCID_TEST_RANKS", "2")  # `make distributed`

needs_mpi = pytest.mark.skipif(
    not {"mpi4py", "mpich"} <= {d.name for d in importlib.metadata.distributions()},
    reason="mpi4py or mpich is not installed",
)


def case(path):
    """The name of a script: folder and file."""
    return f"{path.parent.name}/{path.stem}"


def expected(path):
    """[(rule, line)] of the marks."""
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
    marks = [(number, found) for number, line in lines if (found := MARK.search(line))]
    return sorted(
        (name.strip(), number)
        for number, found in marks
        for name in (found[1] or path.parent.name).split(",")
    )


def run_batch(engine, scripts, folder, python=sys.executable, stores=(), timeout=900):
    """Check scripts in two ranks; leaves a folder for each.

    `stores` are the ports of PyTorch's stores, one for each script, that outlive the ranks as
    torchrun's do. A store of rank 0's would be gone while rank 1 still asks it.
    """
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    shared = {
        "PYTHONPATH": str(ROOT),
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "STORES": " ".join(map(str, stores)),
        "TORCHELASTIC_USE_AGENT_STORE": str(bool(stores)),
        "OMP_NUM_THREADS": "1",
        "PELLUCID_CHECK_RAISE": "1",
    }
    command = [python, str(HERE / "batch.py"), engine, str(folder), *map(str, scripts)]
    started, logs = [], [folder / f"rank{rank}.log" for rank in range(2)]
    for rank, log in enumerate(logs):
        environment = {**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        environment.pop("PELLUCID_CHECK", None)
        with log.open("w") as said:
            started.append(
                subprocess.Popen(command, env=environment, stdout=said, stderr=subprocess.STDOUT)
            )
    end = time.monotonic() + timeout
    try:
        # The first that fails, not the one that waits for it.
        while time.monotonic() < end and any(process.poll() is None for process in started):
            if any(process.poll() for process in started):
                break
            time.sleep(0.05)
    finally:
        codes = [process.poll() for process in started]
        for process in started:
            process.kill()
            process.wait()
    assert codes == [0, 0], (codes, *(log.read_text(errors="replace")[-4000:] for log in logs))


def compared(path, folder, engine):
    """What the check says of a script that has run in the batch."""
    # Which rank is late depends on who else uses the machine.
    settings = Settings() if path.parent.name == "straggler" else Settings(ignore=("straggler",))
    return merge.merged(folder, settings, str(path), engine)


@pytest.fixture(scope="module")
def batch(tmp_path_factory):
    """{script: its folder}, all of them checked in two ranks."""
    folder = tmp_path_factory.mktemp("ranks")
    scripts = [path for path in SCRIPTS if case(path) not in ALONE] + CORRECT
    run_batch("pellucid", scripts, folder)
    return {path: folder / str(number) for number, path in enumerate(scripts)}


def found_in(result):
    return sorted((f.name, f.line) for f in result.findings)


@needs_mpi
@pytest.mark.parametrize("path", [p for p in SCRIPTS if case(p) not in ALONE], ids=case)
def test_script(path, batch):
    result = compared(path, batch[path], "pellucid")
    assert found_in(result) == expected(path), str(result)
    assert result.notes == [] and result.ranks == 2
    if path.stem.startswith("ok"):
        assert result.failure is None and not expected(path)
    else:
        assert expected(path)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.slug)
def test_the_example_of_the_page_is_the_script(rule):
    path = HERE / "scripts" / rule.slug / "buggy.py"
    source = "\n".join(
        re.sub(r"\s*# <- finding.*", "", line)
        for line in path.read_text(encoding="utf-8").splitlines()
    )
    page = (ROOT / "docs" / "checks" / f"{rule.slug}.md").read_text(encoding="utf-8")
    assert f"## Example\n\n```python\n# train.py\n{source}\n```\n" in page
    for name, line in expected(path):
        assert re.search(
            rf"^train\.py:{line + 1}: (error|warning|info) {rule.id} \[{name}\]$",
            page,
            re.MULTILINE,
        )


@needs_mpi
@pytest.mark.parametrize("path", CORRECT, ids=lambda path: path.stem)
def test_correct_programs_have_no_findings(path, batch):
    result = compared(path, batch[path], "pellucid")
    assert result.findings == [] and result.failure is None and result.notes == [], str(result)
    assert result.steps > 3 and result.ranks == 2


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.slug)
def test_rule_is_complete(rule):
    for kind in ("buggy", "ok"):
        assert list((HERE / "scripts" / rule.slug).glob(f"{kind}*.py")), kind
    text = (ROOT / "docs" / "checks" / f"{rule.slug}.md").read_text(encoding="utf-8")
    assert re.match(rf"# .+ \({rule.slug}, {rule.id}\)\n\n\S", text)
    assert re.findall("^## (.*)", text, re.MULTILINE) == [
        "What it reports",
        "Example",
        "Why it is wrong",
        "How to fix it",
        "What it does not report",
        "When to ignore it",
    ]
    assert (
        rule.severity in ("error", "warning", "info")
        and rule.summary
        and not rule.summary.endswith(".")
    )


def test_there_are_the_rules_of_the_design():
    assert [rule.id for rule in RULES] == [f"D{n:03}" for n in range(1, 21)]
    assert {path.parent.name for path in SCRIPTS} == {rule.slug for rule in RULES}


thorough = pytest.mark.skipif(not THOROUGH, reason="runs in `make distributed`")


def command(*arguments, **more):
    """`pellucid check`, ended: (exit status, findings, failure, standard error)."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", **more}
    line = [
        sys.executable,
        "-m",
        "pellucid",
        "check",
        "--ignore",
        "straggler",
        "--quiet",
        "--format",
        "json",
        *map(str, arguments),
    ]
    done = subprocess.run(line, capture_output=True, text=True, timeout=600, env=environment)
    assert done.stdout, done.stderr
    said = json.loads(done.stdout)
    return done.returncode, said["findings"], said.get("failure"), done.stderr


@needs_mpi
@thorough
def test_a_rank_that_raises_is_named_by_the_command():
    script = HERE / "scripts" / "rank-failed" / "buggy.py"
    status, findings, failure, _ = command("--nproc", "2", script)
    assert status == 1 and [(f["rule"], f["line"]) for f in findings] == [
        ("D003", expected(script)[0][1])
    ]
    assert re.match(r"RanksFailed: rank [01]: ValueError: bad sample 2", failure)
    assert re.match(
        r"rank 0 \(pid \d+\) raised ValueError: bad sample 2 while rank 1 waited in all_reduce at buggy\.py:\d+\.",
        findings[0]["message"],
    )


@needs_mpi
@thorough
@pytest.mark.parametrize("how", ["spawn", "Process", "fork"])
def test_ranks_that_the_script_starts_itself(how, tmp_path):
    """By `mp.spawn` and as processes: found at the line, once, with no option."""
    begin = {
        "spawn": "mp.spawn(train, args=(2, port), nprocs=2)",
        "Process": "started = [mp.Process(target=train, args=(rank, 2, port)) for rank in range(2)]",
        "fork": "started = [mp.get_context('fork').Process(target=train, args=(rank, 2, port)) for rank in range(2)]",
    }[how]
    wait = (
        ""
        if how == "spawn"
        else "    mp.set_start_method('spawn', force=True)\n"
        if how == "Process"
        else ""
    )
    body = (
        (HERE / "scripts" / "forward-past-wrapper" / "buggy.py")
        .read_text()
        .partition("dist.init_process_group")
    )
    lines = "dist.init_process_group" + body[2].replace(
        '("gloo")', "('gloo', init_method=f'tcp://127.0.0.1:{port}', rank=rank, world_size=size)", 1
    )
    script = tmp_path / "train.py"
    script.write_text(
        "import socket\n"
        + body[0]
        + "import torch.multiprocessing as mp\n\n\ndef train(rank, size, port):\n"
        + "".join(f"    {line}\n" if line else "\n" for line in lines.splitlines())
        + f"\n\nif __name__ == '__main__':\n    with socket.create_server(('127.0.0.1', 0)) as free:\n        port = free.getsockname()[1]\n{wait}    {begin}\n"
        + (
            ""
            if how == "spawn"
            else "    for process in started:\n        process.start()\n    for process in started:\n        process.join()\n"
        )
    )
    status, findings, failure, err = command(script)
    marked = [
        k for k, line in enumerate(script.read_text().splitlines(), 1) if "# <- finding" in line
    ]
    assert (status, [(f["rule"], f["line"]) for f in findings], failure) == (
        1,
        [("D013", marked[0])],
        None,
    ), err


@needs_mpi
@thorough
def test_a_rank_that_is_killed_and_one_that_hangs(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "import datetime, os, signal, sys, time\nimport torch\nimport torch.distributed as dist\n\n"
        "dist.init_process_group(timeout=datetime.timedelta(seconds=3 if sys.argv[1] == 'late' else 60))\nfor step in range(5):\n"
        "    if step == 3 and dist.get_rank() == 1:\n        if sys.argv[1] == 'killed':\n            os.kill(os.getpid(), signal.SIGKILL)\n"
        "        time.sleep(600)\n    dist.all_reduce(torch.ones(3))\n"
    )
    status, findings, failure, _ = command("--nproc", "2", script, "killed")
    # Which line it was at is looked at every 5 ms: the last of the loop may not have been seen.
    assert (
        status == 1
        and [f["rule"] for f in findings] == ["D003"]
        and "ended without an error message" in findings[0]["message"]
    )
    status, findings, failure, _ = command("--nproc", "2", "--stall", "4", script, "hangs")
    assert status == 1 and failure == "RanksFailed: no progress for 4 seconds"
    # The condition on the rank is around the sleep, not around a collective.
    assert [(f["rule"], f["line"]) for f in findings] == [("D002", 10)], findings
    # The rank that waited gives up, and the launcher ends the one that is late.
    status, findings, failure, _ = command("--nproc", "2", script, "late")
    assert status == 1 and [(f["rule"], f["line"]) for f in findings] == [("D002", 10)], findings
    assert re.search(r"waited \d\.\d s in .* for rank 1, which was at", findings[0]["message"])


@needs_mpi
@thorough
def test_three_ranks_a_module_and_steps(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "train.py").write_text(
        (HERE / "scripts" / "same-data-on-all-ranks" / "buggy.py").read_text()
    )
    status, findings, failure, _ = command(
        "--nproc_per_node",
        "3",
        "--max-steps",
        "4",
        "-m",
        "package.train",
        PYTHONPATH=f"{ROOT}:{tmp_path}",
    )
    assert (status, [f["rule"] for f in findings], failure) == (1, ["D006"], None)
    assert findings[0]["evidence"]["ranks"] == [0, 1, 2]
    status, findings, _, _ = command(
        "--nproc", "2", "-m", "package.nothing", PYTHONPATH=f"{ROOT}:{tmp_path}"
    )
    assert status != 0 and findings == []


@needs_mpi
def test_the_line_of_a_rank_is_one_of_the_program(tmp_path, batch):
    """Who started the check stands above the program on the stack, and is no place of it."""
    for path, folder in batch.items():
        for rank in merge.Job(folder).ranks:
            places = {rank.place(event["s"]).file for event in rank.all("at")}
            assert not any(file.endswith("batch.py") for file in places), (path, places)
    missing = next(path for path in batch if case(path) == "rank-missing/buggy")
    gone = merge.Job(batch[missing]).rank(1)
    assert gone.line_at(gone.end).line == expected(missing)[0][1]
