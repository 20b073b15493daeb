"""The shape of PyTorch's `multigpu_torchrun.py` and minGPT-ddp's trainer on processors: torchrun, a
sampler, mixed precision, snapshots from which a second start goes on.
"""

import argparse
import os
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


def ddp_setup():
    dist.init_process_group(backend="gloo")


class MyTrainDataset(Dataset):
    def __init__(self, size):
        generator = torch.Generator().manual_seed(0)
        self.size = size
        self.data = [
            (torch.rand(20, generator=generator), torch.rand(1, generator=generator))
            for _ in range(size)
        ]

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return self.data[index]


class Trainer:
    def __init__(self, model, train_data, optimizer, save_every, snapshot_path):
        self.local_rank = int(os.environ["LOCAL_RANK"])
        self.global_rank = int(os.environ["RANK"])
        self.model, self.train_data, self.optimizer, self.save_every = (
            model,
            train_data,
            optimizer,
            save_every,
        )
        self.epochs_run, self.snapshot_path = 0, snapshot_path
        self.scaler = torch.amp.GradScaler("cpu", enabled=False)
        if os.path.exists(snapshot_path):
            self._load_snapshot(snapshot_path)
        self.model = DDP(self.model)

    def _load_snapshot(self, snapshot_path):
        snapshot = torch.load(snapshot_path, map_location="cpu")
        self.model.load_state_dict(snapshot["MODEL_STATE"])
        self.optimizer.load_state_dict(snapshot["OPTIMIZER_STATE"])
        self.epochs_run = snapshot["EPOCHS_RUN"]

    def _run_batch(self, source, targets):
        with torch.amp.autocast("cpu", dtype=torch.bfloat16, enabled=False):
            loss = F.mse_loss(self.model(source), targets)
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.detach()

    def _run_epoch(self, epoch):
        self.train_data.sampler.set_epoch(epoch)
        total = sum(self._run_batch(source, targets) for source, targets in self.train_data)
        dist.all_reduce(total)
        if self.global_rank == 0:
            print(
                f"Epoch {epoch} | Batchsize: {self.train_data.batch_size} | Steps: {len(self.train_data)} | Loss {total.item():.4f}"
            )

    def _save_snapshot(self, epoch):
        snapshot = {
            "MODEL_STATE": self.model.module.state_dict(),
            "OPTIMIZER_STATE": self.optimizer.state_dict(),
            "EPOCHS_RUN": epoch + 1,
        }
        torch.save(snapshot, self.snapshot_path)

    def train(self, max_epochs):
        for epoch in range(self.epochs_run, max_epochs):
            self._run_epoch(epoch)
            if self.global_rank == 0 and epoch % self.save_every == 0:
                self._save_snapshot(epoch)


def main(total_epochs, save_every, batch_size, snapshot_path):
    ddp_setup()
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(20, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    dataset = MyTrainDataset(64)
    train_data = DataLoader(
        dataset,
        batch_size=batch_size,
        pin_memory=False,
        shuffle=False,
        sampler=DistributedSampler(dataset),
    )
    Trainer(model, train_data, optimizer, save_every, snapshot_path).train(total_epochs)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="simple distributed training job")
    parser.add_argument("total_epochs", type=int)
    parser.add_argument("save_every", type=int)
    parser.add_argument("snapshot_path")
    parser.add_argument("--batch_size", default=8, type=int)
    args = parser.parse_args()
    main(args.total_epochs, args.save_every, args.batch_size, args.snapshot_path)
    if "pellucid" not in sys.modules:  # PyTorch's threads sometimes abort as the interpreter ends
        sys.stdout.flush()
        os._exit(0)
