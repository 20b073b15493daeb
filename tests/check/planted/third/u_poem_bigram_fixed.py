"""Next-word model of a nursery rhyme."""
import random

import torch
from torch import nn

SEED = 17
TEXT = """
the mouse ran up the clock the clock struck one the mouse ran down
the cow jumped over the moon the little dog laughed to see such fun
and the dish ran away with the spoon the king was in his counting house
"""


def set_seed(seed):
    random.seed(seed)
    torch.manual_seed(seed)


def build_vocab(words):
    return {w: i for i, w in enumerate(sorted(set(words)))}


class Bigram(nn.Module):
    def __init__(self, size, dim=16, context=2):
        super().__init__()
        self.emb = nn.Embedding(size, dim)
        self.mix = nn.Linear(context * dim, 32)
        self.out = nn.Linear(32, size)

    def forward(self, ids):
        return self.out(torch.tanh(self.mix(self.emb(ids).flatten(1))))


set_seed(SEED)
words = TEXT.split()
vocab = build_vocab(words)
ids = torch.tensor([vocab[w] for w in words])
windows = ids.unfold(0, 3, 1)
model = Bigram(len(vocab))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(80):
    batch = windows[torch.randint(0, len(windows), (16,))]
    loss = nn.functional.cross_entropy(model(batch[:, :2]), batch[:, 2])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(f"step {step + 1} loss {loss.item():.6f}")

names = {i: w for w, i in vocab.items()}
context = [vocab["the"], vocab["mouse"]]
for _ in range(6):
    with torch.no_grad():
        context.append(model(torch.tensor([context[-2:]])).argmax().item())
print(" ".join(names[i] for i in context))
