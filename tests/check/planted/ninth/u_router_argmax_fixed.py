# A mixture of four experts; each row goes to the one that its router prefers
import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self, d=6, experts=4):
        super().__init__()
        self.router = nn.Linear(d, experts)
        self.experts = nn.Parameter(torch.randn(experts, d, 1) * 0.3)

    def forward(self, x):
        scores = self.router(x).softmax(-1)
        best, chosen = scores.max(-1)
        y = torch.einsum("nd,ndo->no", x, self.experts[chosen])
        return y.squeeze(1) * best


torch.manual_seed(32)
x = torch.randn(400, 6)
y = torch.where(x[:, 0] > 0, x[:, 1], -x[:, 2])
model = Mixture()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    rows = torch.randint(0, 400, (50,))
    loss = (model(x[rows]) - y[rows]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
