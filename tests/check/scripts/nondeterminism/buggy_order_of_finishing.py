"""Rows of training data stand in the order in which threads happen to finish."""

from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.pool import ThreadPool

import torch
from torch import nn

torch.manual_seed(0)
raw = torch.randn(40, 12)


def features(i):
    return torch.stack([raw[i].mean(), raw[i].std(), raw[i].max()])


rows = []
with ThreadPoolExecutor(2) as pool:
    for job in as_completed([pool.submit(features, i) for i in range(20)]):  # <- finding
        rows.append(job.result())
with ThreadPool(2) as pool:
    rows += list(pool.imap_unordered(features, range(20, 40)))  # <- finding
x = torch.stack(rows)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for part in x.split(8):
    loss = (net(part) - part[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
