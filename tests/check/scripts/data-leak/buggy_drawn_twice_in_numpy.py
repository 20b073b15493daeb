"""The validation rows are drawn without a look at the training rows."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(300, 10)).astype("float32")
y = (x[:, 0] > 0).astype("int64")
train_rows = rng.choice(300, 240, replace=False)
val_rows = rng.choice(300, 60, replace=False)  # <- finding
net = nn.Linear(10, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
xt, yt = torch.from_numpy(x[train_rows]), torch.from_numpy(y[train_rows])
xv, yv = torch.from_numpy(x[val_rows]), torch.from_numpy(y[val_rows])
for step in range(40):
    i = torch.randint(0, 240, (32,))
    loss = F.cross_entropy(net(xt[i]), yt[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    print("val", (net(xv).argmax(1) == yv).float().mean().item())
