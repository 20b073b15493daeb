import torch
import torch.nn as nn
from torch.func import functional_call

torch.manual_seed(1)
net = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))
# the training state lives outside the module, as leaf tensors by name
params = {k: v.detach().clone().requires_grad_() for k, v in net.named_parameters()}
opt = torch.optim.SGD(params.values(), lr=0.05)
X = torch.randn(600, 6)
Y = torch.sin(2 * X[:, :1]) + 0.5 * X[:, 1:2] ** 2


def predict(x):
    return functional_call(net, params, (x,))


for epoch in range(30):
    for idx in torch.randperm(500).split(50):
        opt.zero_grad()
        loss = nn.functional.mse_loss(predict(X[idx]), Y[idx])
        loss.backward()
        opt.step()
    if epoch % 6 == 5:
        with torch.no_grad():
            test = nn.functional.mse_loss(predict(X[500:]), Y[500:]).item()
        print(f"epoch {epoch + 1} loss {loss.item():.4f} test {test:.4f}")
