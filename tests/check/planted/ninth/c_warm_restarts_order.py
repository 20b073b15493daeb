# Cosine schedule with warm restarts, stepped in every iteration
import torch
from torch import nn

torch.manual_seed(12)
x = torch.randn(384, 9)
y = (x[:, :3].sum(1) > 0).float()
model = nn.Sequential(nn.Linear(9, 20), nn.SiLU(), nn.Linear(20, 1), nn.Flatten(0))
opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, nesterov=True)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=10)
bce = nn.BCEWithLogitsLoss()
for epoch in range(5):
    for i, rows in enumerate(torch.randperm(384).split(64)):
        loss = bce(model(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        sched.step()  # BUG scheduler-before-optimizer
        opt.step()
    print(epoch, sched.get_last_lr(), loss.item())
