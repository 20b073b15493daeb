import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader


def make_items(n, seed):
    g = torch.Generator().manual_seed(seed)
    items = []
    for _ in range(n):
        L = int(torch.randint(4, 16, (1,), generator=g))
        x = torch.randn(L, 3, generator=g)
        c = int(torch.randint(0, 3, (1,), generator=g))
        x[:, c] += 0.9
        items.append({"x": x, "y": c})
    return items


def collate(batch):
    """Longest first, as pack_padded_sequence wants."""
    lengths = torch.tensor([len(b["x"]) for b in batch])
    lengths, order = lengths.sort(descending=True)
    xs = pad_sequence([batch[i]["x"] for i in order], batch_first=True)
    ys = torch.tensor([b["y"] for b in batch])  # BUG sorted-apart
    return xs, lengths, ys


class SeqClassifier(nn.Module):
    def __init__(self, d=3, h=24, n=3):
        super().__init__()
        self.rnn = nn.GRU(d, h, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * h, n)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        _, h = self.rnn(packed)
        return self.fc(torch.cat([h[-2], h[-1]], dim=1))


@torch.no_grad()
def evaluate(model, items):
    """One at a time: no padding to care about."""
    model.eval()
    hits = 0
    for it in items:
        out = model(it["x"][None], torch.tensor([len(it["x"])]))
        hits += int(out.argmax()) == it["y"]
    return hits / len(items)


def main():
    torch.manual_seed(0)
    loader = DataLoader(make_items(420, 1), batch_size=32, shuffle=True, collate_fn=collate)
    test = make_items(150, 2)
    model = SeqClassifier()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for ep in range(6):
        model.train()
        tot = 0.0
        for x, lengths, y in loader:
            loss = F.cross_entropy(model(x, lengths), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
        print(f"epoch {ep} loss {tot / len(loader):.3f}")
    print(f"final test acc {evaluate(model, test):.3f}")


if __name__ == "__main__":
    main()
