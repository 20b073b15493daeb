"""Learn the distribution of star ratings of a product from its description vector."""
import torch
import torch.nn as nn
import torch.nn.functional as F

STARS = 5


class RatingNet(nn.Module):
    def __init__(self, features=10):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 32), nn.SiLU(), nn.Linear(32, STARS))

    def forward(self, x):
        return self.body(x)


def products(n, mixing):
    x = torch.randn(n, 10)
    histogram = F.softmax(1.5 * torch.tanh(x @ mixing), dim=1)
    votes = torch.distributions.Multinomial(40, probs=histogram).sample()
    return x, votes / 40


def divergence(output, histogram):
    return F.kl_div(output, histogram, reduction="batchmean")  # BUG logits-as-probs


torch.manual_seed(0)
mixing = torch.randn(10, STARS) / 2
x, histogram = products(800, mixing)
x_test, h_test = products(200, mixing)
net = RatingNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(150):
    idx = torch.randint(0, len(x), (64,))
    loss = divergence(net(x[idx]), histogram[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(f"step {step + 1} loss {loss.item():.4f}")

with torch.no_grad():
    expected = F.softmax(net(x_test), dim=1) @ torch.arange(1.0, STARS + 1)
    truth = h_test @ torch.arange(1.0, STARS + 1)
print("error of the mean rating", (expected - truth).abs().mean().item())
