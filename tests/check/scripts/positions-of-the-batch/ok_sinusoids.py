import torch
from torch import nn

torch.manual_seed(10)


def positional_table(length, width):
    position = torch.arange(length).float().unsqueeze(1)
    table = torch.zeros(length, width)
    for i in range(0, width, 2):
        rate = 1.0 / 10000 ** (i / width)
        table[:, i] = torch.sin(position * rate)[:, 0]
        table[:, i + 1] = torch.cos(position * rate)[:, 0]
    return table


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 32)
        self.register_buffer("table", positional_table(24, 32))
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(32, 2)

    def forward(self, ids):
        return self.out(self.layer(self.emb(ids) + self.table).mean(1))


ids = torch.randint(0, 20, (320, 24))
y = (ids[:, :8].float().mean(1) > ids[:, 16:].float().mean(1)).long()
model = Encoder()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    total = 0.0
    for idx in torch.randperm(320).split(32):
        loss = nn.functional.cross_entropy(model(ids[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 10:.4f}")
