import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class DeepRegressor(nn.Module):
    def __init__(self, in_dim, hidden, n_layers):
        super().__init__()
        self.inp = nn.Linear(in_dim, hidden)
        self.hidden_layers = [nn.Linear(hidden, hidden) for _ in range(n_layers)]  # BUG param-not-in-optimizer
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        x = torch.tanh(self.inp(x))
        for layer in self.hidden_layers:
            x = torch.tanh(layer(x))
        return self.out(x).squeeze(-1)


def robot_arm(n):
    """Distance of the hand from the base for two joint angles and two lengths."""
    x = 2 * torch.rand(n, 4) - 1
    a, b = 3 * x[:, 0], 3 * x[:, 1]
    l1, l2 = 1 + 0.3 * x[:, 2], 1 + 0.3 * x[:, 3]
    px = l1 * a.cos() + l2 * (a + b).cos()
    py = l1 * a.sin() + l2 * (a + b).sin()
    return x, (px ** 2 + py ** 2).sqrt() - 1.2


x_train, y_train = robot_arm(2000)
x_test, y_test = robot_arm(400)
model = DeepRegressor(4, 32, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)  # BUG param-not-in-optimizer
print("parameters:", sum(p.numel() for p in model.parameters()))

for epoch in range(6):
    for idx in torch.randperm(2000).split(80):
        loss = F.mse_loss(model(x_train[idx]), y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(f"epoch {epoch} train {loss.item():.4f} test {F.mse_loss(model(x_test), y_test).item():.4f}")
