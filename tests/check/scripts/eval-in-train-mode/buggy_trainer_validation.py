import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)


class Task(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 3))

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch):
        x, y = batch
        return nn.functional.cross_entropy(self(x), y)

    def validation_step(self, batch):
        self.train()  # <- finding
        x, y = batch
        logits = self(x)
        return (logits.argmax(1) == y).sum().item()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


class Trainer:
    def __init__(self, epochs):
        self.epochs = epochs

    def fit(self, task, train, val):
        opt = task.configure_optimizers()
        for epoch in range(self.epochs):
            task.train()
            for batch in train:
                loss = task.training_step(batch)
                opt.zero_grad()
                loss.backward()
                opt.step()
            task.eval()
            with torch.no_grad():
                right = sum(task.validation_step(batch) for batch in val)
            print(f"epoch {epoch} accuracy {right / len(val.dataset):.3f}")


x = torch.randn(600, 12)
y = (x[:, :3] + 0.3 * torch.randn(600, 3)).argmax(1)
train = DataLoader(TensorDataset(x[:480], y[:480]), batch_size=32, shuffle=True)
val = DataLoader(TensorDataset(x[480:], y[480:]), batch_size=60)
Trainer(4).fit(Task(), train, val)
