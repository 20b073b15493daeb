# Watches the activations while it trains
import numpy as np
import torch
from torch import nn


class Watch:
    def __init__(self):
        self.skew = []

    def __call__(self, module, inputs, output):
        values = output.detach().numpy()
        values -= values.mean()  # BUG inplace-breaks-backward
        values /= values.std()  # BUG inplace-breaks-backward
        self.skew.append(float(np.mean(values ** 3)))


torch.manual_seed(13)
x = torch.randn(320, 8)
y = x[:, :1] * 2 - x[:, 1:2].abs()
net = nn.Sequential(nn.Linear(8, 32), nn.Sigmoid(), nn.Linear(32, 1))
watch = Watch()
net[1].register_forward_hook(watch)
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(8):
    for i in range(0, 320, 40):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x[i:i + 40]), y[i:i + 40])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), watch.skew[-1])
