import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(7)
ACCUM = 8


class CharModel(nn.Module):
    def __init__(self, vocab, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


vocab = 12
steps = torch.randint(1, 4, (600, 1))
start = torch.randint(0, vocab, (600, 1))
text = (start + steps * torch.arange(11)) % vocab

model = CharModel(vocab)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    order = torch.randperm(len(text))
    optimizer.zero_grad()
    for i, chunk in enumerate(order.split(4)):
        seq = text[chunk]
        optimizer.zero_grad()  # BUG zero-between-backward-and-step
        logits = model(seq[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, vocab), seq[:, 1:].reshape(-1))
        (loss / ACCUM).backward()
        if (i + 1) % ACCUM == 0:
            optimizer.step()  # BUG zero-between-backward-and-step
    print("epoch", epoch, "loss", loss.item())
