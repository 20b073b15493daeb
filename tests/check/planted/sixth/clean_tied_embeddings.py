import torch
import torch.nn as nn

torch.manual_seed(2)
V, T = 12, 16


class TiedLM(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.emb = nn.Embedding(V, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, V)
        self.out.weight = self.emb.weight  # weight tying, as in Press & Wolf

    def forward(self, tok):
        h, _ = self.rnn(self.emb(tok))
        return self.out(h)


model = TiedLM()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
start = torch.randint(0, V, (64, 1))
step = torch.randint(1, 4, (64, 1))
seq = (start + step * torch.arange(T + 1)) % V
for it in range(120):
    logits = model(seq[:48, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, V), seq[:48, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
with torch.no_grad():
    pred = model(seq[48:, :-1]).argmax(-1)
print("loss", round(loss.item(), 4), "next-token accuracy after 3 tokens", (pred[:, 3:] == seq[48:, 4:]).float().mean().item())
