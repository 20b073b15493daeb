import torch
from torch import nn

torch.manual_seed(2)


class Backbone(nn.Module):
    def __init__(self, n_out=10):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(24, 48), nn.ReLU())
        self.fc = nn.Linear(48, n_out)

    def forward(self, x):
        return self.fc(self.features(x))


def load_pretrained():
    net = Backbone()
    return net


def toy(n=300):
    x = torch.randn(n, 24)
    return x, (x[:, 0] > 0).long() + (x[:, 1] > 0.5).long()


model = load_pretrained()
for p in model.features.parameters():
    p.requires_grad = False
model.fc = nn.Linear(48, 3)
optimizer = torch.optim.Adam(model.fc.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

x, y = toy()
for epoch in range(20):
    optimizer.zero_grad()
    logits = model(x)
    loss = criterion(logits, y)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 4:
        acc = (logits.argmax(1) == y).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")
