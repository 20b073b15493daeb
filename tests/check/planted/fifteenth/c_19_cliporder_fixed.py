"""Character-level RNN trained with gradient clipping."""
import torch
from torch import nn

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the bear " * 12
CHARS = sorted(set(TEXT))
STOI = {c: i for i, c in enumerate(CHARS)}


class CharRNN(nn.Module):
    def __init__(self, n, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(n, 16)
        self.rnn = nn.RNN(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, n)

    def forward(self, x):
        h, _ = self.rnn(self.embed(x))
        return self.out(h)


class Learner:
    def __init__(self, model, lr=0.5, max_norm=1.0):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)
        self.max_norm = max_norm

    def prepare(self):
        self.opt.zero_grad()

    def update(self, loss):
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.opt.step()


def batches(ids, length=20, size=16):
    starts = torch.randint(0, len(ids) - length - 1, (size,))
    x = torch.stack([ids[s:s + length] for s in starts])
    y = torch.stack([ids[s + 1:s + length + 1] for s in starts])
    return x, y


torch.manual_seed(0)
ids = torch.tensor([STOI[c] for c in TEXT])
learner = Learner(CharRNN(len(CHARS)))
for step in range(80):
    x, y = batches(ids)
    learner.prepare()
    logits = learner.model(x)
    loss = nn.functional.cross_entropy(logits.reshape(-1, len(CHARS)), y.reshape(-1))
    learner.update(loss)
    if step % 20 == 19:
        print(step, loss.item())
