import torch
from torch import nn

x = torch.linspace(-2, 2, 200, dtype=torch.float32).unsqueeze(1)
y = (2 * x).sin() + 0.05 * x


def train_member(seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        for idx in torch.randperm(200).split(25):
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return model


members = [train_member(seed) for seed in range(4)]
with torch.no_grad():
    outputs = torch.stack([member(x) for member in members])
print(f"error {nn.functional.mse_loss(outputs.mean(0), y).item():.4f} spread {outputs.std(0).mean().item():.4f}")
