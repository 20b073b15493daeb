"""`pellucid scale`: what it measures of a script, and what follows from that."""

import json
import subprocess
import sys

import pytest

from pellucid.cli import scale as command
from pellucid.distributed.cost import NETWORKS, MeasuredStep, Network, predict

SCRIPT = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.Linear(40, 5))
model[0].bias.requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters())
for step in range(1000):
    optimizer.zero_grad()
    model(torch.randn(8, 30)).square().mean().backward()
    optimizer.step()
    print("step", step)
"""


def scale(*arguments):
    command = [sys.executable, "-m", "pellucid", "scale", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_a_script_is_measured_and_ended(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    ended = scale(
        "--ranks",
        "1,8",
        "--network",
        "100Gb",
        "--format",
        "json",
        "--max-steps",
        "9",
        "--bucket_cap_mb",
        "0.0005",
        str(script),
    )
    assert ended.returncode == 0, ended.stderr
    *lines, last = ended.stdout.splitlines()
    assert lines == [f"step {k}" for k in range(8)]
    found = json.loads(last)
    step, bytes_of_gradients = found["step"], 4 * (30 * 40 + 40 * 5 + 5)
    assert sum(step["buckets"]) == bytes_of_gradients and len(step["buckets"]) == 2
    assert step["parameters"] == bytes_of_gradients  # of those that are trained
    assert 2 * bytes_of_gradients <= step["states"] <= 2 * bytes_of_gradients + 64
    assert 0 < step["backward"] < step["seconds"] and 0 < step["update"] < step["seconds"]
    ways = {(p["ranks"], p["way"]): p for p in found["predictions"]}
    assert list(ways) == [(1, "DDP"), *[(8, way) for way in ("DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3")]]
    assert ways[1, "DDP"]["efficiency"] == 1
    assert ways[8, "ZeRO-3"]["memory"] * 8 == pytest.approx(ways[8, "DDP"]["memory"])


def test_what_it_says():
    ended = scale("--ranks", "8", "--quiet", "-c", SCRIPT)
    assert ended.returncode == 0, ended.stderr
    assert (
        "one rank: a step of" in ended.stdout
        and "(Adam)" in ended.stdout
        and "ZeRO-3" in ended.stdout
    )
    assert "step 0" not in ended.stdout
    ended = scale("-c", "print(1)")
    assert ended.returncode == 1 and "the script made 0 steps of an optimizer" in ended.stderr
    ended = scale("--ranks", "many", "train.py")
    assert (
        ended.returncode == 2
        and "--ranks must be numbers like 8,64,512, not 'many'" in ended.stderr
    )


def test_predictions_follow_the_network_and_the_ranks():
    step = MeasuredStep(
        seconds=1.0,
        backward=0.6,
        buckets=[25_000_000] * 20,
        parameters=500_000_000,
        states=10**9,
        update=0.1,
    )
    slow, fast = (predict(step, NETWORKS[name], 64) for name in ("10GbE", "100Gb"))
    assert all(
        s.seconds > f.seconds and s.exposed > f.exposed for s, f in zip(slow, fast, strict=True)
    )
    memory = [p.memory for p in slow]
    assert memory == sorted(memory, reverse=True)
    alone = predict(step, NETWORKS["10GbE"], 1)
    assert [p.way for p in alone] == ["DDP"] and alone[0].seconds == step.seconds
    assert predict(step, NETWORKS["10GbE"], 64, overlap=0.0)[0].seconds > slow[0].seconds
    late = Network("late", 1e-3, 1e12)
    assert (
        "starting messages"
        in predict(MeasuredStep(0.1, 0.05, [1000] * 50, 50_000, 0), late, 64)[0].limit
    )


def test_a_busy_machine_is_told_apart_from_a_wrong_prediction():
    step = MeasuredStep(
        seconds=1.0, backward=0.6, buckets=[1_000_000], parameters=1_000_000, states=0
    )
    checked = {
        "one": 1.0,
        "predicted": 1.1,
        "measured": 3.0,
        "efficiency": 0.33,
        "predicted_efficiency": 0.9,
        "delayed": 0.6,
    }
    text = command._text(step, NETWORKS["10GbE"], {}, [], checked)
    assert (
        "3e+03 ms measured, 1.1e+03 ms predicted (-63%)" in text
        and "waited 60% of its step for a core" in text
    )
    assert "Not a fair comparison" not in command._text(
        step, NETWORKS["10GbE"], {}, [], checked | {"delayed": 0.0}
    )


def test_real_time_priority_that_is_not_permitted(monkeypatch, capsys):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(command.os, "sched_setscheduler", refuse, raising=False)
    with pytest.raises(SystemExit):
        command.main(["--realtime", "-c", "1"])
    assert (
        "--realtime is not possible here: [Errno 1] Operation not permitted"
        in capsys.readouterr().err
    )
