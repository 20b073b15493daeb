import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(320, 10), torch.randint(0, 3, (320,))
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
for epoch in range(6):
    for rows in torch.randperm(320).split(32):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    scheduler.step()
    if epoch == 2:
        optimizer.zero_grad()
    print(epoch, optimizer.param_groups[0]["lr"])
