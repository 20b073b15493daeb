"""Transcription with CTC."""

import torch
from torch import nn


class Listener(nn.Module):
    def __init__(self, features=6, hidden=24, symbols=5):
        super().__init__()
        self.rnn = nn.GRU(features, hidden, batch_first=True)
        self.out = nn.Linear(hidden, symbols)

    def forward(self, x):
        h, _ = self.rnn(x)
        return torch.softmax(self.out(h), dim=-1)  # BUG nll-without-log-softmax|logits-as-probs|probs-as-logits


def sounds(n, length=12, said=3):
    text = torch.randint(1, 5, (n, said))
    x = torch.zeros(n, length, 6)
    for k in range(said):
        x[torch.arange(n), 4 * k + 1, text[:, k]] = 3.0
    return x + 0.1 * torch.randn_like(x), text


torch.manual_seed(0)
model = Listener()
ctc = nn.CTCLoss(blank=0)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    x, text = sounds(16)
    scores = model(x).transpose(0, 1)
    lengths = torch.full((16,), 12), torch.full((16,), 3)
    loss = ctc(scores, text, *lengths)  # BUG nll-without-log-softmax|logits-as-probs|probs-as-logits
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 3))
