import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(2)
x = torch.randn(512, 6)
y = (x[:, 0] * x[:, 1] + x[:, 2]).unsqueeze(1)

net = nn.Sequential(nn.Linear(6, 40), nn.ReLU(), nn.Linear(40, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
scheduler = StepLR(optimizer, step_size=10, gamma=0.5)
loss_fn = nn.MSELoss()

used = []
for epoch in range(30):
    for i in range(0, 512, 64):
        optimizer.zero_grad()
        loss = loss_fn(net(x[i:i + 64]), y[i:i + 64])
        loss.backward()
        optimizer.step()
    used.append(optimizer.param_groups[0]["lr"])
    scheduler.step()
    if epoch % 5 == 0:
        print(f"epoch {epoch} lr {used[-1]:.4f} loss {loss.item():.4f}")

print("epochs at the first learning rate:", used.count(used[0]), "of the intended 10")
print("lr of the last epoch:", used[-1])
