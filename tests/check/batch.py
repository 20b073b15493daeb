"""Checks many scripts from one interpreter: each runs in a fork of it, so that imports are paid
once and nothing is left behind.

    python batch.py ENGINE SCRIPT [SCRIPT ...]      (a SCRIPT may have arguments after it: "train.py --quick")

prints {script: {"findings", "failure", "notes", "output"}} as JSON.
"""

import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import signal
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

SCRIPTS = Path(__file__).parent / "scripts"
LONGEST = 300  # seconds of one script: whoever hangs is ended


def check_one(script, engine):
    from pellucid.check import Settings, check_script

    path, *arguments = script.split(" ")
    output = io.StringIO()
    with contextlib.redirect_stdout(output), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = check_script(path, arguments, engine=engine, settings=Settings())
    failure = (
        None if result.failure is None else "".join(traceback.format_exception(result.failure))
    )
    return {
        **result.as_dict(),
        "failure": failure,
        "notes": result.notes,
        "output": output.getvalue(),
    }


def main(engine, scripts):
    import torch

    import pellucid.check

    # What is loaded on first use would be loaded in every fork: by PyTorch with the first
    # optimizer, by Pellucid with the first kernels.
    weight = torch.zeros(2, 2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], 0.1)
    if engine == "pellucid":
        with pellucid.check.watching():
            model = torch.nn.Sequential(
                torch.nn.Linear(2, 4),
                torch.nn.ReLU(),
                torch.nn.BatchNorm1d(4),
                torch.nn.Dropout(0.1),
            )
            loss = torch.nn.functional.cross_entropy(
                model(torch.rand(4, 2) @ weight), torch.zeros(4).long()
            )
            loss.backward()
            optimizer.step()
            torch.utils.data.DataLoader(torch.zeros(2))
            torch.distributions.Normal(0.0, 1.0).sample()
        kernels = importlib.import_module("pellucid.kernels")
        for module in pkgutil.walk_packages(kernels.__path__, "pellucid.kernels."):
            importlib.import_module(module.name)
        for name in ("numpy.ma", "torch.nn.functional", "torch.utils.data", "torch.distributions"):
            importlib.import_module(name)

    pellucid.check.all_rules()
    if kind := os.environ.get("PELLUCID_TEST_IDS"):
        sys.path.insert(0, str(Path(__file__).parent))
        import identities

        from pellucid.check import events

        identities.install(
            kind, events.Op, events.Value, events.ModuleCall, torch.nn.Module, torch.Tensor
        )
    gc.collect()
    gc.freeze()  # forks share what nobody collects
    results, running, waiting = {}, {}, list(scripts)
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < 2:
                script = waiting.pop(0)
                target = os.path.join(folder, f"{len(waiting)}.json")
                child = os.fork()
                if child == 0:
                    status = 1
                    signal.alarm(LONGEST)
                    try:
                        with open(target, "w") as file:
                            json.dump(check_one(script, engine), file)
                        status = 0
                    except BaseException:
                        traceback.print_exc()
                    finally:
                        sys.stdout.flush()
                        sys.stderr.flush()
                        os._exit(status)
                running[child] = (script, target)
            child, status = os.wait()
            script, target = running.pop(child)
            if status == 0:
                results[script] = json.loads(Path(target).read_text())
            else:
                results[script] = {
                    "findings": [],
                    "failure": f"the check itself ended with status {status}",
                    "notes": [],
                    "output": "",
                }
    print(json.dumps(results))


if __name__ == "__main__":
    if sys.argv[1] == "pellucid":
        import pellucid

        pellucid.interop.as_torch()
    main(sys.argv[1], sys.argv[2:])
