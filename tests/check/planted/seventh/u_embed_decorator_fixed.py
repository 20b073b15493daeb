# Siamese matching; the encoder method is shared with the search index
import torch
from torch import nn
import torch.nn.functional as F


class Matcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 8))
        self.scale = nn.Parameter(torch.tensor(1.0))

    def embed(self, x):
        return F.normalize(self.encoder(x), dim=1)

    def forward(self, a, b):
        return self.scale * self.embed(a) @ self.embed(b).T

    def build_index(self, items):
        with torch.no_grad():
            return self.embed(items)


torch.manual_seed(8)
core = torch.randn(400, 5)
lift = torch.randn(5, 20)
left = core @ lift + torch.randn(400, 20) * 2
right = core @ lift + torch.randn(400, 20) * 2
model = Matcher()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(15):
    for b in torch.randperm(400).split(40):
        loss = F.cross_entropy(model(left[b], right[b]), torch.arange(len(b)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "loss", round(loss.item(), 3))
index = model.build_index(right)
top = (model.embed(left) @ index.T).argmax(1)
print("retrieval at one", (top == torch.arange(400)).float().mean().item())
