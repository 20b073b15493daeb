# Sentiment net: the pretrained 5-star head is swapped for a binary one.
import torch
from torch import nn

torch.manual_seed(19)
reviews = torch.randn(800, 30)
stars = (reviews[:, :5].sum(1) * 0.9).round().clamp(-2, 2).long() + 2
liked = (reviews[:, :5].sum(1) + 0.3 * torch.randn(800) > 0).long()


class Net(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(30, 48), nn.ReLU())
        self.head = nn.Linear(48, n_out)

    def forward(self, x):
        return self.head(self.features(x))


def train(net, opt, y, epochs):
    for epoch in range(epochs):
        for idx in torch.randperm(600).split(60):
            loss = nn.functional.cross_entropy(net(reviews[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(f"  last loss {loss.item():.4f}, lr {opt.param_groups[-1]['lr']}")


net = Net(5)
print("stage 1: stars")
train(net, torch.optim.Adam(net.parameters(), lr=3e-3), stars, 10)

print("stage 2: liked or not")
net.head = nn.Linear(48, 2)
opt = torch.optim.Adam([
    {"params": net.features.parameters(), "lr": 1e-5},
    {"params": net.head.parameters(), "lr": 1e-2},
])
train(net, opt, liked, 6)
with torch.no_grad():
    acc = (net(reviews[600:]).argmax(1) == liked[600:]).float().mean().item()
print("test accuracy", round(acc, 3))
