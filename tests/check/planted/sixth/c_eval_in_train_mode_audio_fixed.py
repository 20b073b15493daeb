import torch
import torch.nn as nn

SEED = 7
torch.manual_seed(SEED)


def synth(n):
    t = torch.linspace(0, 1, 64)
    y = torch.randint(0, 4, (n,))
    freq = 3.0 + 2.0 * y.float()
    x = torch.sin(6.283 * freq[:, None] * t + 6.283 * torch.rand(n, 1)) + 0.5 * torch.randn(n, 64)
    return x.unsqueeze(1), y


class ToneNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 16, 9, padding=4), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(4),
            nn.Conv1d(16, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU())
        self.head = nn.Sequential(nn.Dropout(0.6), nn.Linear(16 * 16, 4))

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def train_one_epoch(model, x, y, opt):
    model.train()
    for i in range(0, len(x), 32):
        loss = nn.functional.cross_entropy(model(x[i:i + 32]), y[i:i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()


def evaluate(model, x, y):
    model.eval()
    correct = 0
    with torch.no_grad():
        for i in range(0, len(x), 4):
            correct += (model(x[i:i + 4]).argmax(1) == y[i:i + 4]).sum().item()
    return correct / len(x)


xtr, ytr = synth(512)
xte, yte = synth(200)
model = ToneNet()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    train_one_epoch(model, xtr, ytr, opt)
    print("epoch", epoch, "test acc", round(evaluate(model, xte, yte), 3))
print("twice the same?", evaluate(model, xte, yte) == evaluate(model, xte, yte))
