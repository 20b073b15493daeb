"""A predictor on top of an encoder with two ways to be called."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.emb = nn.EmbeddingBag(40, dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, tokens):
        return torch.tanh(self.proj(self.emb(tokens)))

    def encode(self, tokens, batch_size=16):
        out = []
        with torch.set_grad_enabled(self.training):
            for i in range(0, len(tokens), batch_size):
                out.append(self(tokens[i : i + batch_size]))
        return torch.cat(out)


torch.manual_seed(0)
encoder, head = Encoder(), nn.Linear(16, 2)
opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=1e-2)
for step in range(20):
    tokens = torch.randint(0, 40, (48, 9))
    label = ((tokens % 3 == 0).sum(1) > 3).long()
    logits = head(encoder.encode(tokens))
    loss = nn.functional.cross_entropy(logits, label)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 3), "encoder", encoder.proj.weight.grad is not None)
