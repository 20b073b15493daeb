# Age brackets made by bucketize / digitize
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(9)
torch.manual_seed(9)
age = rng.uniform(0, 80, 1000)
edges = np.array([0, 20, 40, 60])
N = len(edges)
bracket = np.clip(np.digitize(age, edges), 0, N - 1)  # BUG label-range
labels = torch.from_numpy(bracket)
x = torch.tensor(np.stack([np.sin(age / 20), np.cos(age / 20), age / 80], 1), dtype=torch.float32)
print("labels", labels.unique().tolist(), "of", N, "classes")

net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, N))
opt = torch.optim.Adam(net.parameters(), lr=0.02)
for epoch in range(20):
    for b in torch.randperm(1000).split(100):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x[b]), labels[b])
        loss.backward()
        opt.step()
print("loss", loss.item())
predicted = net(x).argmax(1).numpy()
lower = edges[predicted]
inside = (age >= lower) & (age < lower + 20)
print("ages within the predicted bracket", inside.mean())
