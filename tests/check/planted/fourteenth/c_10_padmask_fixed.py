import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

PAD = 0


def make_split(n, seed):
    g = torch.Generator().manual_seed(seed)
    items = []
    for _ in range(n):
        length = int(torch.randint(3, 15, (1,), generator=g))
        s = torch.randint(1, 21, (length,), generator=g)
        items.append((s, (s <= 5).sum().clamp(max=3)))
    return items


def collate(batch):
    seqs, labels = zip(*batch)
    x = pad_sequence(seqs, batch_first=True, padding_value=PAD)
    return x, torch.stack(labels)


class Classifier(nn.Module):
    def __init__(self, vocab=21, d=32, n_cls=4):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=PAD)
        layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.fc = nn.Linear(d, n_cls)

    def forward(self, x):
        pad = x.eq(PAD)
        h = torch.cat([self.cls.expand(len(x), -1, -1), self.emb(x)], dim=1)
        first = torch.zeros(len(x), 1, dtype=torch.bool)
        mask = torch.cat([first, pad], dim=1)
        h = self.enc(h, src_key_padding_mask=mask)
        return self.fc(h[:, 0])


def evaluate(model, dl):
    model.eval()
    ok = tot = 0
    with torch.no_grad():
        for x, y in dl:
            ok += (model(x).argmax(1) == y).sum().item()
            tot += len(y)
    return ok / tot


torch.manual_seed(0)
train_dl = DataLoader(make_split(640, 1), batch_size=64, shuffle=True, collate_fn=collate)
test_dl = DataLoader(make_split(200, 2), batch_size=64, collate_fn=collate)
model = Classifier()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    for x, y in train_dl:
        loss = loss_fn(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, f"{loss.item():.3f}", f"{evaluate(model, test_dl):.3f}")
print(f"final acc {evaluate(model, test_dl):.3f}")
