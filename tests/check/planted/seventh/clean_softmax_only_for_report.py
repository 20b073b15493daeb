import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(5, 3)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        logits = self.body(x)
        if self.training:
            return logits
        return self.softmax(logits)


torch.manual_seed(2)
x = torch.randn(300, 5)
y = (x @ torch.randn(5, 3)).argmax(1)
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=0.05)
for epoch in range(40):
    net.train()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    prob = net(x)
    nll = nn.functional.nll_loss(prob.clamp_min(1e-9).log(), y)
print("loss", loss.item(), "nll", nll.item(), "rows sum to", prob.sum(1).mean().item())
