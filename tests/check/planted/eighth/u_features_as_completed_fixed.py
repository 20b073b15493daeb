# Features are computed by a pool of threads, then a classifier is fitted
import random
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import torch
from torch import nn

torch.manual_seed(18)
raw = torch.randn(60, 20)


def featurise(i):
    time.sleep(0.002 * random.random())
    row = raw[i]
    return torch.stack([row.mean(), row.std(), row.max(), row.min()]), int(row.sum() > 0)


with ThreadPoolExecutor(4) as pool:
    jobs = [pool.submit(featurise, i) for i in range(60)]
    rows = [job.result() for job in jobs]
x = torch.stack([r[0] for r in rows])
y = torch.tensor([r[1] for r in rows])
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(10):
    for i in range(0, 60, 12):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[i:i + 12]), y[i:i + 12])
        loss.backward()
        optimizer.step()
print("loss", loss.item())
