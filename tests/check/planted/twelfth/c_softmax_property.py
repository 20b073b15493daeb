"""Three kinds of flowers."""

import torch
from torch import nn


class FlowerNet(nn.Module):
    def __init__(self, n_in, n_hidden, n_out):
        super().__init__()
        self.hidden = nn.Linear(n_in, n_hidden)
        self.out = nn.Linear(n_hidden, n_out)
        self.act = nn.ReLU()
        self.prob = nn.Softmax(dim=-1)  # BUG softmax-before-ce

    def forward(self, x):
        x = self.act(self.hidden(x))
        return self.prob(self.out(x))  # BUG softmax-before-ce


torch.manual_seed(4)
centers = torch.tensor([[5.0, 3.4, 1.4, 0.2], [5.9, 2.7, 4.2, 1.3], [6.5, 3.0, 5.5, 2.0]])
y = torch.arange(3).repeat(50)
x = centers[y] + 0.3 * torch.randn(150, 4)
x = (x - x.mean(0)) / x.std(0)

model = FlowerNet(4, 16, 3)
opt = torch.optim.Adam(model.parameters(), lr=0.02)
criterion = nn.CrossEntropyLoss()
for epoch in range(40):
    opt.zero_grad()
    pred = model(x)
    loss = criterion(pred, y)  # BUG softmax-before-ce
    loss.backward()
    opt.step()
print("accuracy", (model(x).argmax(1) == y).float().mean().item())
