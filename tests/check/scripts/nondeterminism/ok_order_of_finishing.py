"""Threads finish as they like, and the results stand where they belong; how long something waits is drawn without a seed."""

import random
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import torch
from torch import nn

torch.manual_seed(0)
raw = torch.randn(40, 12)


def features(i):
    time.sleep(0.001 * random.random())
    return torch.stack([raw[i].mean(), raw[i].std(), raw[i].max()])


rows = [None] * 40
with ThreadPoolExecutor(2) as pool:
    jobs = {pool.submit(features, i): i for i in range(20)}
    for job in as_completed(jobs):
        rows[jobs[job]] = job.result()
    rows[20:] = list(pool.map(features, range(20, 40)))
with ThreadPoolExecutor(2) as pool:
    done = sum(float(job.result()[0]) > 0 for job in as_completed([pool.submit(features, i) for i in range(4)]))
x = torch.stack(rows)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for part in x.split(8):
    loss = (net(part) - part[:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), done)
