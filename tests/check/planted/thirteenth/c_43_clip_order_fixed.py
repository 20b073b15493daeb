import torch
import torch.nn as nn
import torch.nn.functional as F


class VanillaRNN(nn.Module):
    def __init__(self, n_in, hidden, n_out):
        super().__init__()
        self.hidden = hidden
        self.w_in = nn.Linear(n_in, hidden)
        self.w_rec = nn.Linear(hidden, hidden, bias=False)
        self.readout = nn.Linear(hidden, n_out)
        nn.init.orthogonal_(self.w_rec.weight, gain=1.3)

    def forward(self, x):
        h = x.new_zeros(x.size(0), self.hidden)
        for t in range(x.size(1)):
            h = F.relu(self.w_in(x[:, t]) + self.w_rec(h))
        return self.readout(h)


def adding(n, steps, g):
    values = torch.rand(n, steps, generator=g)
    marks = torch.zeros(n, steps)
    first = torch.randint(0, steps // 2, (n,), generator=g)
    second = torch.randint(steps // 2, steps, (n,), generator=g)
    rows = torch.arange(n)
    marks[rows, first] = 1.0
    marks[rows, second] = 1.0
    return torch.stack([values, marks], dim=2), (values * marks).sum(1, keepdim=True)


def main():
    torch.manual_seed(15)
    g = torch.Generator().manual_seed(15)
    model = VanillaRNN(2, 32, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.06, momentum=0.9)
    criterion = nn.MSELoss()
    for step in range(300):
        model.train()
        x, y = adding(32, 14, g)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
        optimizer.step()
        if step % 50 == 49:
            norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm().item()
            model.eval()
            with torch.no_grad():
                x, y = adding(200, 14, g)
                print(f"step {step + 1} test mse {criterion(model(x), y).item():.4f} last grad norm {norm:.2f}")


main()
