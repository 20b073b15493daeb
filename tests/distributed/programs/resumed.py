"""Training that saves after each epoch and, started again, goes on from there; a rank fails once,
if it is told how.
"""

import os
import signal
import sys

import pellucid as torch
import pellucid.distributed as dist
from pellucid import nn


def main(folder, how):
    dist.init_process_group("gloo")
    rank, size, again = (
        dist.get_rank(),
        dist.get_world_size(),
        os.environ["TORCHELASTIC_RESTART_COUNT"],
    )
    path = os.path.join(folder, "checkpoint.pt")
    torch.manual_seed(0)
    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    first = 0
    if os.path.exists(path):
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        first = saved["epoch"] + 1
    for epoch in range(first, 6):
        for step in range(3):
            generator = torch.Generator().manual_seed(100 * epoch + 10 * step + rank)
            x = torch.randn(8, 4, generator=generator)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()
            if epoch == 3 and step == 1 and rank == size - 1 and again == "0":
                if how == "raised":
                    raise ValueError("bad sample")
                if how == "killed":
                    os.kill(os.getpid(), signal.SIGKILL)
        if rank == 0:
            torch.save(
                {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch},
                path + ".part",
            )
            os.replace(path + ".part", path)
        dist.barrier()
    numbers = " ".join(
        f"{v.hex()}" for p in model.parameters() for v in p.detach().reshape(-1).tolist()
    )
    sys.stdout.write(f"rank {rank} began at {first}: {numbers}\n")
    sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
