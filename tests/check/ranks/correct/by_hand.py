"""Data parallel without DistributedDataParallel, as in PyTorch's tutorial on torch.distributed; every rank evaluates all of the test set."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class Partition:
    def __init__(self, data, index):
        self.data, self.index = data, index

    def __len__(self):
        return len(self.index)

    def __getitem__(self, index):
        return self.data[self.index[index]]


def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
        param.grad.data /= size


def run(rank, size):
    torch.manual_seed(1234)
    x = torch.randn(120, 8)
    data = list(zip(x, (x.sum(1) > 0).long(), strict=True))
    order = torch.randperm(100).tolist()
    part = Partition(data, order[rank * 50 : rank * 50 + 50])
    train_set = torch.utils.data.DataLoader(part, batch_size=10, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    for epoch in range(2):
        epoch_loss = 0.0
        for xb, yb in train_set:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(xb), yb)
            epoch_loss += loss.item()
            loss.backward()
            average_gradients(model)
            optimizer.step()
        print("Rank ", dist.get_rank(), ", epoch ", epoch, ": ", epoch_loss / len(train_set))
    model.eval()
    with torch.no_grad():
        scores = model(torch.stack([a for a, _ in data[100:]]))
        accuracy = (scores.argmax(1) == torch.stack([b for _, b in data[100:]])).float().mean().item()
    if rank == 0:
        print(f"accuracy {accuracy:.2f}")


dist.init_process_group("gloo")
run(dist.get_rank(), dist.get_world_size())
dist.destroy_process_group()
