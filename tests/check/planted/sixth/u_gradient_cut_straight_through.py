import torch
import torch.nn as nn

torch.manual_seed(9)


class Quantize(nn.Module):
    """Rounds activations to a grid; the gradient is to pass straight through."""

    def __init__(self, levels=4):
        super().__init__()
        self.levels = levels

    def forward(self, x):
        x = torch.sigmoid(x) * self.levels
        q = x.round()
        return q + (x - x.detach()).detach()  # BUG gradient-cut


class QAutoencoder(nn.Module):
    def __init__(self, d=16, code=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, code))
        self.quant = Quantize()
        self.dec = nn.Sequential(nn.Linear(code, 32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, x):
        return self.dec(self.quant(self.enc(x)))


mix = torch.randn(4, 16)
data = torch.randn(800, 4).tanh() @ mix
model = QAutoencoder()
start = model.enc[0].weight.detach().clone()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(25):
    for xb in data[:640].split(64):
        loss = nn.functional.mse_loss(model(xb), xb)
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    test = nn.functional.mse_loss(model(data[640:]), data[640:]).item()
print(f"train {loss.item():.4f} test {test:.4f}")
print("encoder moved by", round((model.enc[0].weight - start).abs().max().item(), 5))
