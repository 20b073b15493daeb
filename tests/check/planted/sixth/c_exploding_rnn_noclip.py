import torch
import torch.nn as nn

torch.manual_seed(14)


class ReluRNN(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.rnn = nn.RNN(1, hidden, nonlinearity="relu", batch_first=True)
        self.out = nn.Linear(hidden, 1)
        nn.init.normal_(self.rnn.weight_hh_l0, std=0.3)  # BUG exploding-gradient

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1])


def adding(n, steps=40):
    x = torch.rand(n, steps, 1)
    return x, x.sum(1) / steps


model = ReluRNN()
opt = torch.optim.SGD(model.parameters(), lr=1e-3)
for it in range(80):
    x, y = adding(32)
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()  # BUG exploding-gradient
    gn = max(p.grad.norm().item() for p in model.parameters())
    opt.step()
    if it % 16 == 0:
        print(f"iter {it:3d} loss {loss.item():.4g} largest grad norm {gn:.4g}")
print("final loss", loss.item())
