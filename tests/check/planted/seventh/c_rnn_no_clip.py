# Vanilla RNN written by hand: sum of a long sequence
import torch
import torch.nn as nn


class PlainRNN(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.inp = nn.Linear(1, hidden)
        self.rec = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, 1)
        nn.init.normal_(self.rec.weight, std=0.35)  # BUG exploding-gradient
        self.hidden = hidden

    def forward(self, seq):
        h = seq.new_zeros(seq.size(0), self.hidden)
        for t in range(seq.size(1)):
            h = torch.relu(self.inp(seq[:, t:t + 1]) + self.rec(h))
        return self.out(h).squeeze(1)


torch.manual_seed(6)
model = PlainRNN()
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(60):
    seq = torch.rand(32, 60)
    target = seq.mean(1)
    loss = nn.functional.mse_loss(model(seq), target)
    opt.zero_grad()
    loss.backward()  # BUG exploding-gradient
    norm = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5  # BUG exploding-gradient
    opt.step()  # BUG exploding-gradient
    if step % 10 == 0:
        print(f"step {step:3d} loss {loss.item():.4g} grad norm {norm.item():.4g}")
print("final loss", loss.item())
