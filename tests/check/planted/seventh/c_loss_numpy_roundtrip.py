# Pose estimation: error of joint angles, with a helper written for NumPy
import numpy as np
import torch
import torch.nn as nn


def angular_error(a, b):
    """Mean squared angular difference."""
    a, b = a.detach().numpy(), b.numpy()  # BUG gradient-cut
    d = np.arctan2(np.sin(a - b), np.cos(a - b))  # BUG gradient-cut
    return torch.tensor((d ** 2).mean(), requires_grad=True)  # BUG gradient-cut


rng = np.random.default_rng(2)
torch.manual_seed(2)
markers = torch.tensor(rng.normal(size=(400, 9)), dtype=torch.float32)
mix = torch.tensor(rng.normal(size=(9, 4)), dtype=torch.float32)
angles = torch.tanh(markers @ mix / 3) * 3.0

net = nn.Sequential(nn.Linear(9, 48), nn.Tanh(), nn.Linear(48, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(30):
    for idx in torch.randperm(400).split(40):
        optimizer.zero_grad()
        loss = angular_error(net(markers[idx]), angles[idx])
        loss.backward()
        optimizer.step()
    if epoch % 6 == 5:
        print(f"epoch {epoch + 1} error {loss.item():.4f}")

with torch.no_grad():
    mae = (net(markers) - angles).abs().mean().item()
print("mean absolute error in radians", round(mae, 4))
