import torch
from torch import nn

torch.manual_seed(8)
VOCAB, MASK = 30, 30
start = torch.randint(0, VOCAB, (256, 1))
text = (start + torch.arange(12) * 2) % VOCAB


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCAB + 1, 32)
        self.places = nn.Embedding(12, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(32, VOCAB)

    def forward(self, ids):
        h = self.words(ids) + self.places.weight
        return self.out(self.encoder(h))


model = Bert()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(40):
    ids = text[torch.randint(0, 256, (32,))]
    hidden = torch.rand(ids.shape) < 0.15
    inputs = ids.masked_fill(hidden, MASK)
    labels = ids  # <- finding
    loss = nn.functional.cross_entropy(model(inputs).transpose(1, 2), labels, ignore_index=-100)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}")
