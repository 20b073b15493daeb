# Language model whose output layer shares the embedding matrix on purpose (weight tying).
import torch
from torch import nn

torch.manual_seed(9)
text = "pack my box with five dozen liquor jugs and then pack my bag with six dozen more. " * 12
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])


class TiedLM(nn.Module):
    def __init__(self, v, d=24):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, v)
        self.out.weight = self.emb.weight

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


net = TiedLM(len(chars))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(120):
    s = torch.randint(0, len(ids) - 21, (16,))
    chunk = torch.stack([ids[i:i + 21] for i in s.tolist()])
    logits = net(chunk[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, len(chars)), chunk[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    if step % 40 == 39:
        print(f"step {step + 1} loss {loss.item():.3f}")
print("same matrix:", net.out.weight is net.emb.weight)
