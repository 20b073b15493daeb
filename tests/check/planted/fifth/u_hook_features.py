"""Take activations of a trunk with a forward hook while training a classifier."""
from collections import OrderedDict
import torch
from torch import nn

activations = OrderedDict()


def tap(name):
    def hook(module, inputs, output):
        output = output.detach()  # BUG gradient-cut
        activations[name] = output.mean().item()  # BUG gradient-cut
        return output  # BUG gradient-cut
    return hook


torch.manual_seed(0)
net = nn.Sequential(OrderedDict(
    stem=nn.Linear(2, 6), act1=nn.Tanh(), body=nn.Linear(6, 6), act2=nn.Tanh(), head=nn.Linear(6, 2)))
net.act2.register_forward_hook(tap("act2"))
start = {k: v.detach().clone() for k, v in net.named_parameters()}

r = torch.cat([torch.rand(200), 1.5 + torch.rand(200)])
a = torch.rand(400) * 6.283
x = torch.stack([r * a.cos(), r * a.sin()], 1)
y = (torch.arange(400) >= 200).long()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(300):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 0:
        print(step, round(loss.item(), 4), "mean act2", round(activations["act2"], 4))
print("accuracy", (net(x).argmax(1) == y).float().mean().item())
print("moved:", [k for k, v in net.named_parameters() if not torch.equal(v, start[k])])
