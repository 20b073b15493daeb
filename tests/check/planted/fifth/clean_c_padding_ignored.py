"""Sequence labels padded with -100, embedding padded with 0: the padding is really left out."""
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(3)
data = []
for _ in range(400):
    n = int(torch.randint(3, 10, (1,)))
    w = torch.randint(1, 30, (n,))
    data.append((w, (w % 4)))


def collate(rows):
    words, tags = zip(*rows)
    return (pad_sequence(words, batch_first=True, padding_value=0),
            pad_sequence(tags, batch_first=True, padding_value=-100))


net = nn.Sequential(nn.Embedding(30, 16, padding_idx=0), nn.Linear(16, 4))
opt = torch.optim.Adam(net.parameters(), lr=2e-2)
ce = nn.CrossEntropyLoss(ignore_index=-100)
train = DataLoader(data[:320], batch_size=32, shuffle=True, collate_fn=collate)
test = DataLoader(data[320:], batch_size=32, collate_fn=collate)
for epoch in range(6):
    for w, t in train:
        loss = ce(net(w).flatten(0, 1), t.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 4))
ok = total = 0
with torch.no_grad():
    for w, t in test:
        keep = t != -100
        ok += (net(w).argmax(-1)[keep] == t[keep]).sum().item()
        total += keep.sum().item()
print("accuracy", ok / total)
