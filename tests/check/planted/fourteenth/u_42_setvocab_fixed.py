import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

POS = "good great lovely superb warm bright fresh tasty".split()
NEG = "bad awful dull poor cold stale bland grim".split()
FILL = "the a this meal film book was is very quite really and so it place".split()


def corpus(n, seed):
    g = torch.Generator().manual_seed(seed)

    def pick(words):
        return words[int(torch.randint(0, len(words), (1,), generator=g))]

    out = []
    for _ in range(n):
        label = int(torch.randint(0, 2, (1,), generator=g))
        words = [pick(FILL) for _ in range(6)] + [pick(POS if label else NEG)]
        if torch.rand((), generator=g) < 0.2:
            words.append(pick(NEG if label else POS))
            words.append(pick(POS if label else NEG))
        out.append((" ".join(words), label))
    return out


class Vocab:
    def __init__(self, texts):
        tokens = set(w for t, _ in texts for w in t.split())
        self.itos = ["<unk>"]
        self.itos += sorted(tokens)
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def encode(self, text):
        return torch.tensor([self.stoi.get(w, 0) for w in text.split()])


def pack(samples, vocab):
    ids = [vocab.encode(t) for t, _ in samples]
    offsets = torch.tensor([0] + [len(i) for i in ids[:-1]]).cumsum(0)
    return torch.cat(ids), offsets, torch.tensor([l for _, l in samples])


class BagModel(nn.Module):
    def __init__(self, v):
        super().__init__()
        self.emb = nn.EmbeddingBag(v, 16, mode="mean")
        self.fc = nn.Linear(16, 2)

    def forward(self, ids, offsets):
        return self.fc(self.emb(ids, offsets))


train, test = corpus(400, 1), corpus(200, 2)
vocab = Vocab(train)
model = BagModel(len(vocab.itos))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for ep in range(8):
    order = torch.randperm(len(train)).tolist()
    for i in range(0, len(order), 40):
        ids, off, y = pack([train[j] for j in order[i:i + 40]], vocab)
        loss = F.cross_entropy(model(ids, off), y)
        opt.zero_grad()
        loss.backward()
        opt.step()

model.eval()
with torch.no_grad():
    ids, off, y = pack(test, vocab)
    acc = (model(ids, off).argmax(1) == y).float().mean().item()
print("checksum of row 5 word:", vocab.itos[5])
print(f"final test acc {acc:.3f} loss {loss.item():.6f}")
