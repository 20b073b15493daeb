import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)
VOCAB, SOS = 12, 0


class Seq2Seq(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.enc = nn.GRU(dim, dim, batch_first=True)
        self.dec = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, src, tgt_in):
        _, h = self.enc(self.emb(src))
        d, _ = self.dec(self.emb(tgt_in), h)
        return self.out(d)

    @torch.no_grad()
    def translate(self, src, length):
        _, h = self.enc(self.emb(src))
        token = torch.full((len(src), 1), SOS)
        result = []
        for _ in range(length):
            d, h = self.dec(self.emb(token), h)
            token = self.out(d).argmax(-1)
            result.append(token)
        return torch.cat(result, 1)


model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(250):
    src = torch.randint(1, VOCAB, (48, 5))
    tgt = src.flip(1)
    decoder_in = tgt  # BUG target-visible
    logits = model(src, decoder_in)  # BUG target-visible
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), tgt.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

model.eval()
src = torch.randint(1, VOCAB, (100, 5))
acc = (model.translate(src, 5) == src.flip(1)).float().mean().item()
print("loss", loss.item(), "translation accuracy", acc)
