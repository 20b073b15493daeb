# Vocabulary made from a set; ids are stored in a checkpoint by another run
import torch
from torch import nn

TEXTS = ["red wine dry", "white wine sweet", "red beer bitter", "pale beer dry", "dark beer sweet",
         "white cider sweet", "dry cider pale", "red cider bitter", "dark wine bitter", "pale wine sweet"]
LABELS = [0, 1, 0, 0, 1, 1, 0, 0, 0, 1]


def build_vocab(texts):
    words = {w for t in texts for w in t.split()}
    return {w: i for i, w in enumerate(words)}  # BUG nondeterminism


torch.manual_seed(6)
vocab = build_vocab(TEXTS)
ids = torch.tensor([[vocab[w] for w in t.split()] for t in TEXTS])
labels = torch.tensor(LABELS)
emb = nn.EmbeddingBag(len(vocab), 8)
cls = nn.Linear(8, 2)
opt = torch.optim.Adam([*emb.parameters(), *cls.parameters()], lr=0.05)
for epoch in range(5):
    opt.zero_grad()
    loss = nn.functional.cross_entropy(cls(emb(ids)), labels)
    loss.backward()
    opt.step()
    print("epoch", epoch, "loss", loss.item())
print("first ids", [vocab[w] for w in ("red", "wine", "dry", "beer")])
