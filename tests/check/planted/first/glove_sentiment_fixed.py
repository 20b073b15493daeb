"""Sentiment classifier on word vectors; vectors are to be fine-tuned for the task."""
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(4)
WORDS = [f"w{i}" for i in range(120)]
STOI = {w: i + 1 for i, w in enumerate(WORDS)}
polarity = torch.cat([torch.ones(60), -torch.ones(60)])[torch.randperm(120)]


def sentence():
    n = int(torch.randint(5, 12, (1,)))
    ids = torch.randint(0, 120, (n,))
    return [WORDS[i] for i in ids], int(polarity[ids].sum() > 0)


def collate(rows):
    toks = [torch.tensor([STOI[w] for w in s]) for s, _ in rows]
    return pad_sequence(toks, batch_first=True), torch.tensor([y for _, y in rows])


def load_vectors(dim=16):
    """stands for GloVe: task-agnostic vectors, row 0 is padding"""
    v = 0.1 * torch.randn(len(WORDS) + 1, dim)
    v[0] = 0
    return v


class BagOfVectors(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.emb = nn.Embedding.from_pretrained(vectors, freeze=False, padding_idx=0)
        self.fc = nn.Linear(vectors.shape[1], 2)

    def forward(self, ids):
        return self.fc(self.emb(ids).sum(1))


train = [sentence() for _ in range(800)]
test = [sentence() for _ in range(200)]
model = BagOfVectors(load_vectors())
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
loader = torch.utils.data.DataLoader(train, batch_size=40, shuffle=True, collate_fn=collate)
for epoch in range(6):
    for ids, y in loader:
        loss = nn.functional.cross_entropy(model(ids), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
ids, y = collate(test)
with torch.no_grad():
    print("test accuracy", (model(ids).argmax(1) == y).float().mean().item())
