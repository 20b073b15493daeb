"""Bag-of-words topic classifier with a vocabulary built from the corpus."""
import random
import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
TOPICS = {
    0: "goal match team player score league coach win".split(),
    1: "election vote party minister law senate debate win".split(),
    2: "cell gene protein study virus lab data score".split(),
}
COMMON = "the a of in and to is was on for".split()


def document():
    topic = random.randrange(3)
    words = random.choices(TOPICS[topic], k=3) + random.choices(COMMON, k=6)
    random.shuffle(words)
    return " ".join(words), topic


docs = [document() for _ in range(600)]
vocab = {w: i for i, w in enumerate(sorted(set(" ".join(d for d, _ in docs).split())))}


def encode(text):
    return torch.tensor([vocab[w] for w in text.split()])


class Bow(nn.Module):
    def __init__(self, n, d=16, n_cls=3):
        super().__init__()
        self.bag = nn.EmbeddingBag(n, d, mode="mean")
        self.fc = nn.Linear(d, n_cls)

    def forward(self, ids):
        return self.fc(self.bag(ids))


x = torch.stack([encode(d) for d, _ in docs])
y = torch.tensor([t for _, t in docs])
model = Bow(len(vocab))
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
for epoch in range(6):
    for i in range(0, 500, 50):
        loss = nn.functional.cross_entropy(model(x[i:i + 50]), y[i:i + 50])
        opt.zero_grad()
        loss.backward()
        opt.step()
with torch.no_grad():
    acc = (model(x[500:]).argmax(1) == y[500:]).float().mean().item()
print(f"loss {loss.item():.6f} held-out acc {acc:.3f}")
