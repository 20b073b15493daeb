"""A decoder with a causal mask looks at a source that is as long as the target."""

import torch
from torch import nn

torch.manual_seed(0)


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(11, 16), nn.Embedding(11, 16)
        self.places = nn.Parameter(torch.randn(1, 8, 16) * 0.1)
        self.core = nn.Transformer(16, 2, 1, 1, 16, dropout=0.0, batch_first=True)
        self.out = nn.Linear(16, 11)

    def forward(self, source, target):
        mask = nn.Transformer.generate_square_subsequent_mask(8)
        given, seen = self.source(source) + self.places, self.target(target) + self.places
        return self.out(self.core(given, seen, tgt_mask=mask, tgt_is_causal=True))


net = Translator()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(6):
    source = torch.randint(1, 11, (12, 8))
    wanted = source.flip(1)
    begun = torch.cat([torch.zeros(12, 1, dtype=torch.long), wanted[:, :-1]], dim=1)
    loss = nn.functional.cross_entropy(net(source, begun).transpose(1, 2), wanted)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
