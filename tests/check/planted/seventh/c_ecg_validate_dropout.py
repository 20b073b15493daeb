import torch
import torch.nn as nn

torch.manual_seed(7)


class ECGNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 7, padding=3)
        self.bn = nn.BatchNorm1d(16)
        self.drop = nn.Dropout(0.6)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        h = torch.relu(self.bn(self.conv(x))).mean(-1)
        return self.fc(self.drop(h))


def beats(n):
    y = torch.randint(0, 3, (n,))
    t = torch.linspace(0, 1, 64)
    freq = torch.tensor([3.0, 6.0, 9.0])[y]
    x = torch.sin(6.283 * freq[:, None] * t + torch.rand(n, 1) * 6.283)
    return (x + 0.4 * torch.randn(n, 64)).unsqueeze(1), y


x_train, y_train = beats(600)
x_val, y_val = beats(200)
model = ECGNet()
opt = torch.optim.Adam(model.parameters(), lr=0.01)
ce = nn.CrossEntropyLoss()

for epoch in range(12):
    model.train()
    for idx in torch.randperm(600).split(50):
        opt.zero_grad()
        ce(model(x_train[idx]), y_train[idx]).backward()
        opt.step()

    # validation
    with torch.no_grad():  # BUG eval-in-train-mode
        logits = model(x_val)  # BUG eval-in-train-mode
        val_loss = ce(logits, y_val)
        val_acc = (logits.argmax(1) == y_val).float().mean()
    print(f"epoch {epoch}: val loss {val_loss:.3f}, val acc {val_acc:.3f}")
with torch.no_grad():
    print("same answer twice:", torch.equal(model(x_val), model(x_val)))
