"""Keyword spotting on synthetic spectrograms with a 1-d CNN and a one-cycle schedule."""
import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR

N_MELS, FRAMES, WORDS = 10, 20, 4


def spectrograms(n):
    y = torch.randint(WORDS, (n,))
    x = 0.3 * torch.randn(n, N_MELS, FRAMES)
    for k in range(WORDS):
        x[y == k, 2 * k:2 * k + 3, 5:15] += 1.0
    return x, y


class KWS(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(N_MELS, 16, 5, stride=2)
        self.conv2 = nn.Conv1d(16, 32, 3)
        self.fc = nn.Linear(32, WORDS)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        return self.fc(x.mean(dim=2))


class Learner:
    def __init__(self, epochs, batch):
        self.x, self.y = spectrograms(256)
        self.epochs, self.batch = epochs, batch
        self.net = KWS()
        self.loss_fn = nn.CrossEntropyLoss(label_smoothing=0.05)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.02, momentum=0.9)
        steps = epochs * (len(self.x) // batch)
        self.schedule = OneCycleLR(self.opt, max_lr=0.1, total_steps=steps + 1)

    def one_batch(self, rows):
        self.opt.zero_grad()
        loss = self.loss_fn(self.net(self.x[rows]), self.y[rows])
        loss.backward()
        self.schedule.step()  # BUG scheduler-before-optimizer
        self.opt.step()  # BUG scheduler-before-optimizer
        return loss.item()

    def fit(self):
        for epoch in range(self.epochs):
            order = torch.randperm(len(self.x)).split(self.batch)
            losses = [self.one_batch(rows) for rows in order]
            print(f"epoch {epoch} loss {sum(losses) / len(losses):.3f}")


torch.manual_seed(0)
Learner(epochs=3, batch=32).fit()
