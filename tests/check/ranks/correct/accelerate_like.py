"""Like a script on Accelerate: prepared objects, gradient accumulation by no_sync, clipping at the last micro-batch, gathered metrics."""

import contextlib
import random

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class Accelerator:
    def __init__(self, gradient_accumulation_steps=1):
        dist.init_process_group("gloo")
        self.process_index, self.num_processes = dist.get_rank(), dist.get_world_size()
        self.gradient_accumulation_steps, self.step, self.sync_gradients = gradient_accumulation_steps, 0, True

    @property
    def is_main_process(self):
        return self.process_index == 0

    def print(self, *args):
        if self.is_main_process:
            print(*args)

    def prepare(self, model, *loaders):
        prepared = [
            DataLoader(x.dataset, batch_size=x.batch_size, sampler=DistributedSampler(x.dataset, shuffle=k == 0))
            for k, x in enumerate(loaders)
        ]
        return DistributedDataParallel(model), *prepared

    @contextlib.contextmanager
    def accumulate(self, model):
        self.step += 1
        self.sync_gradients = self.step % self.gradient_accumulation_steps == 0
        with contextlib.nullcontext() if self.sync_gradients else model.no_sync():
            yield

    def backward(self, loss):
        (loss / self.gradient_accumulation_steps).backward()

    def clip_grad_norm_(self, parameters, norm):
        if self.sync_gradients:
            torch.nn.utils.clip_grad_norm_(parameters, norm)

    def gather(self, tensor):
        parts = [torch.empty_like(tensor) for _ in range(self.num_processes)]
        dist.all_gather(parts, tensor)
        return torch.cat(parts)

    def wait_for_everyone(self):
        dist.barrier()

    def end_training(self):
        dist.destroy_process_group()


def main():
    set_seed(42)
    accelerator = Accelerator(gradient_accumulation_steps=2)
    x = torch.randn(128, 10)
    y = (x[:, 0] > 0).long()
    train = DataLoader(TensorDataset(x[:96], y[:96]), batch_size=8, shuffle=True)
    valid = DataLoader(TensorDataset(x[96:], y[96:]), batch_size=8)
    model = nn.Sequential(nn.Linear(10, 16), nn.Dropout(0.1), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=9)
    model, train, valid = accelerator.prepare(model, train, valid)
    for epoch in range(3):
        model.train()
        train.sampler.set_epoch(epoch)
        for xb, yb in train:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(xb), yb)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    scheduler.step()
                    optimizer.zero_grad()
        model.eval()
        right = total = 0
        for xb, yb in valid:
            with torch.no_grad():
                predictions = model(xb).argmax(-1)
            right += (accelerator.gather(predictions) == accelerator.gather(yb)).sum().item()
            total += len(yb) * accelerator.num_processes
        accelerator.print(f"epoch {epoch}: accuracy {right / total:.4f}")
    accelerator.wait_for_everyone()
    accelerator.end_training()


main()
