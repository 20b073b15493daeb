import torch
from torch import nn

torch.manual_seed(11)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
        self.reset()

    def reset(self):
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.body(x)


x = torch.randn(400, 10)
y = x.pow(2).sum(1, keepdim=True) / 10
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    total = 0.0
    for idx in torch.randperm(400).split(40):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 10:.4f}")
