"""Accelerate's command `launch` starts this script again as two ranks: which engine they have, what
they gather.
"""

import os
import subprocess
import sys
from importlib.metadata import version

import mpi4py  # noqa: F401  (what Pellucid's ranks need; this script does not)
import torch
from accelerate import Accelerator


def main():
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(accelerator.process_index)
    model = accelerator.prepare(torch.nn.Linear(4, 2))
    optimizer = accelerator.prepare(torch.optim.SGD(model.parameters(), lr=0.1))
    for _ in range(3):
        loss = model(torch.randn(8, 4)).square().mean()
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    engine = torch.tensor(["pellucid" in torch.__version__, "pellucid" in version("torch")])
    same = int(os.environ["ENGINE"]) == engine
    losses, engines = accelerator.gather(loss.detach()[None]), accelerator.gather(same[None].int())
    if accelerator.is_main_process:
        print([f"{x:.5f}" for x in losses], engines.tolist(), accelerator.num_processes)
        weight = accelerator.get_state_dict(model)["weight"]
        print([f"{x:.5f}" for x in weight.flatten()])
    accelerator.end_training()


if __name__ == "__main__":
    if "ENGINE" in os.environ:
        main()
    else:
        launch = [sys.executable, "-m", "accelerate.commands.launch"]
        options = ["--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
        options += ["--mixed_precision", "no", "--dynamo_backend", "no"]
        environment = {**os.environ, "ENGINE": str(int("pellucid" in torch.__version__))}
        sys.exit(subprocess.run([*launch, *options, __file__], env=environment).returncode)
