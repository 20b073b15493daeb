"""A classification head that returns log-probabilities; NLL outside."""
import torch
from torch import nn


class Head(nn.Linear):
    def forward(self, h):
        z = super().forward(h)
        if self.training:  # BUG nll-without-log-softmax
            return z  # BUG nll-without-log-softmax
        return z.log_softmax(-1)


class Net(nn.Module):
    def __init__(self, n_in, n_cls):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 32), nn.Tanh())
        self.head = Head(32, n_cls)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(7)
x = torch.randn(600, 3)
y = torch.bucketize(x.sum(1), torch.tensor([-1.0, 1.0]))
xt = torch.randn(300, 3)
yt = torch.bucketize(xt.sum(1), torch.tensor([-1.0, 1.0]))
net, nll = Net(3, 3), nn.NLLLoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(20):
    net.train()
    for idx in torch.randperm(600).split(60):
        opt.zero_grad()
        loss = nll(net(x[idx]), y[idx])  # BUG nll-without-log-softmax
        loss.backward()
        opt.step()
    if epoch % 5 == 4:
        print(f"epoch {epoch} training nll {loss.item():.3f}")
net.eval()
with torch.no_grad():
    out = net(xt)
print("test nll", round(nll(out, yt).item(), 3), "accuracy", round((out.argmax(1) == yt).float().mean().item(), 3))
