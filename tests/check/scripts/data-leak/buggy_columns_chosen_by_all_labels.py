import torch
from torch import nn


def best(x, y, k):
    x, y = x - x.mean(0), y - y.mean()
    return (x * y[:, None]).sum(0).abs().topk(k).indices


def main():
    torch.manual_seed(0)
    x, y = torch.randn(90, 300), torch.randn(90)
    x = x[:, best(x, y, 10)]  # <- finding
    x_train, y_train, x_test, y_test = x[:60], y[:60], x[60:], y[60:]
    net = nn.Linear(10, 1)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for step in range(10):
        opt.zero_grad()
        nn.functional.mse_loss(net(x_train).squeeze(1), y_train).backward()
        opt.step()
    with torch.no_grad():
        print("test", nn.functional.mse_loss(net(x_test).squeeze(1), y_test).item())


main()
