import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader


class SeqClassifier(nn.Module):
    def __init__(self, vocab=20, d=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, d, padding_idx=0)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.fc = nn.Linear(d, 2)

    def forward(self, tokens, lengths):
        lengths, order = lengths.sort(descending=True)
        packed = pack_padded_sequence(self.emb(tokens[order]), lengths, batch_first=True)
        _, h = self.gru(packed)
        return self.fc(h[-1])  # BUG unsorted-outputs|misaligned


def make_sample():
    n = int(torch.randint(4, 14, (1,)))
    seq = torch.randint(3, 20, (n,))
    label = int(torch.rand(1) < 0.5)
    seq[int(torch.randint(0, n, (1,)))] = 1 + label
    return seq, label


def collate(items):
    seqs, labels = zip(*items)
    return pad_sequence(seqs, batch_first=True), torch.tensor([len(s) for s in seqs]), torch.tensor(labels)


torch.manual_seed(0)
dl = DataLoader([make_sample() for _ in range(300)], batch_size=30, shuffle=True, collate_fn=collate)
model = SeqClassifier()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    tot, hit = 0.0, 0
    for tok, lens, lab in dl:
        out = model(tok, lens)
        loss = nn.functional.cross_entropy(out, lab)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
        hit += (out.argmax(1) == lab).sum().item()
    print(f"epoch {epoch} loss {tot / len(dl):.4f} acc {hit / 300:.3f}")
