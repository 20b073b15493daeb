import torch
from torch import nn

torch.manual_seed(0)
padding = 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 5, padding)  # <- finding
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        return self.out(torch.relu(self.conv(x)).mean((2, 3)))


x = torch.rand(128, 1, 16, 16)
y = (x.mean((1, 2, 3)) > 0.5).long()
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    for rows in torch.randperm(128).split(16):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
