# Seismic events: recordings are (batch, 3 components, 50 samples).
import torch
import torch.nn as nn

torch.manual_seed(9)
T = 50


def events(n):
    t = torch.arange(T).float()
    kind = torch.randint(0, 3, (n,))
    start = torch.randint(5, 30, (n, 1)).float()
    burst = torch.exp(-(t - start).clamp(min=0) / 6) * (t >= start)
    x = 0.4 * torch.randn(n, 3, T)
    other = torch.exp(-(t - start - 6).clamp(min=0) / 6) * (t >= start + 6)
    a = torch.where((kind == 0)[:, None], burst, other)
    b = torch.where((kind == 1)[:, None], burst, other)
    c = torch.where((kind == 2)[:, None], burst, other)
    return x + torch.stack([a, b, c], 1), kind


class Picker(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(3, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 3)

    def forward(self, x):
        b, c, t = x.shape
        x = x.view(b, t, c)  # BUG reshape-not-transpose
        out, _ = self.rnn(x)
        return self.fc(out.amax(dim=1))


model = Picker()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.CrossEntropyLoss()
xtr, ytr = events(500)
xte, yte = events(300)
for epoch in range(8):
    for idx in torch.randperm(500).split(50):
        opt.zero_grad()
        loss = loss_fn(model(xtr[idx]), ytr[idx])
        loss.backward()
        opt.step()
    with torch.no_grad():
        acc = (model(xte).argmax(1) == yte).float().mean()
    print(f"epoch {epoch} loss {loss.item():.3f} test acc {acc:.3f}")
