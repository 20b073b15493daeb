import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(50)
STEPS, CLASSES, FEATURES = 6, 6, 9


class TemporalNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.conv = nn.Conv1d(FEATURES, hidden, 3, padding=1)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, CLASSES)

    def forward(self, x):
        h = F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        h, _ = self.gru(h)
        return self.fc(h)  # BUG class-dim-misplaced


def gestures(n):
    codes = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(0))
    labels = torch.randint(0, CLASSES, (n, STEPS))
    return codes[labels] + 0.6 * torch.randn(n, STEPS, FEATURES), labels


class Runner:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train(self, x, y, batch=50):
        self.model.train()
        for idx in torch.randperm(len(x)).split(batch):
            logits = self.model(x[idx])
            loss = F.cross_entropy(logits, y[idx])  # BUG class-dim-misplaced
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def test(self, x, y):
        self.model.eval()
        return (self.model(x).argmax(-1) == y).float().mean().item()


x, y = gestures(1000)
x_test, y_test = gestures(200)
runner = Runner(TemporalNet(), lr=5e-3)
for epoch in range(8):
    loss = runner.train(x, y)
    print(f"epoch {epoch} loss {loss:.4f} frame accuracy {runner.test(x_test, y_test):.3f}")
