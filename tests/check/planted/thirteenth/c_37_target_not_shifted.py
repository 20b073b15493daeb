import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = "the quick brown fox jumps over the lazy dog while the small cat sleeps under the old warm stove. " * 12
CHARS = sorted(set(TEXT))
STOI = {c: i for i, c in enumerate(CHARS)}
ITOS = dict(enumerate(CHARS))
DATA = torch.tensor([STOI[c] for c in TEXT])
BLOCK = 24


def get_batch(split, size=32):
    cut = int(0.9 * len(DATA))
    data = DATA[:cut] if split == "train" else DATA[cut:]
    start = torch.randint(0, len(data) - BLOCK - 1, (size,))
    x = torch.stack([data[s : s + BLOCK] for s in start])
    y = torch.stack([data[s : s + BLOCK] for s in start])  # BUG target-not-shifted|target-visible
    return x, y


class CharRNN(nn.Module):
    def __init__(self, vocab, dim=64):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids, state=None):
        h, state = self.gru(self.embed(ids), state)
        return self.head(h), state


@torch.no_grad()
def generate(model, prompt, n):
    model.eval()
    ids, state, out = torch.tensor([[STOI[c] for c in prompt]]), None, prompt
    for _ in range(n):
        logits, state = model(ids, state)
        ids = logits[:, -1:].argmax(-1)
        out += ITOS[ids.item()]
    return out


def main():
    torch.manual_seed(1337)
    model = CharRNN(len(CHARS))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for it in range(150):
        model.train()
        xb, yb = get_batch("train")  # BUG target-not-shifted|target-visible
        logits, _ = model(xb)
        loss = F.cross_entropy(logits.reshape(-1, len(CHARS)), yb.reshape(-1))  # BUG target-not-shifted|target-visible
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 50 == 49:
            print(f"iter {it + 1} loss {loss.item():.4f}")
    print(generate(model, "the quick", 40))


if __name__ == "__main__":
    main()
