"""Train with cross-entropy while a serving hook is attached to the classifier."""
import torch
from torch import nn


def with_serving(model):
    """Clients want probabilities."""
    model.register_forward_hook(lambda mod, args, out: out if mod.training else out.softmax(-1))
    return model


def build(n_in, n_cls):
    return with_serving(nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, n_cls)))


torch.manual_seed(2)
K = 10
centres = torch.randn(K, 8) * 1.5
y = torch.randint(0, K, (1000,))
x = centres[y] + torch.randn(1000, 8)

net = build(8, K)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
net.train()
for epoch in range(12):
    total = 0.0
    for idx in torch.randperm(1000).split(100):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 10
    if epoch % 3 == 2:
        print(f"epoch {epoch} loss {total:.3f}")

net.eval()
with torch.no_grad():
    prob = net(x)
print("accuracy", round((prob.argmax(1) == y).float().mean().item(), 3),
      "probabilities sum to", round(prob.sum(1).mean().item(), 3))
