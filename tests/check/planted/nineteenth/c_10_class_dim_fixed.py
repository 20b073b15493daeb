"""Translation of digit strings: encoder-decoder with teacher forcing and masks."""
import torch
import torch.nn as nn

torch.manual_seed(2)
V, D, PAD, BOS = 13, 32, 0, 1


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.src, self.tgt = nn.Embedding(V, D, PAD), nn.Embedding(V, D, PAD)
        self.pos = nn.Parameter(torch.randn(1, 12, D) * 0.1)
        self.core = nn.Transformer(D, 2, 1, 1, 48, dropout=0.0, batch_first=True)
        self.gen = nn.Linear(D, V)

    def forward(self, src, tgt):
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
        out = self.core(self.src(src) + self.pos[:, :src.size(1)], self.tgt(tgt) + self.pos[:, :tgt.size(1)],
                        tgt_mask=mask, tgt_is_causal=True)
        return self.gen(out)


def sample(n, length=8):
    src = torch.randint(2, V, (n, length))
    tgt = torch.cat([torch.full((n, 1), BOS), src.flip(1)], dim=1)
    return src, tgt


model = Seq2Seq()
crit = nn.CrossEntropyLoss(ignore_index=PAD)
opt = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98))
for step in range(40):
    src, tgt = sample(24)
    logits = model(src, tgt[:, :-1])
    gold = tgt[:, 1:]
    loss = crit(logits.transpose(1, 2), gold)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        acc = (logits.argmax(-1) == gold).float().mean()
        print(step, round(loss.item(), 4), round(acc.item(), 3))
