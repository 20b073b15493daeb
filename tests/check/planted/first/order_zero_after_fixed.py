"""Polynomial regression."""
import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 200).unsqueeze(1)
y = 0.5 - 1.2 * x + 2.0 * x ** 3 + 0.05 * torch.randn(200, 1)
features = torch.cat([x ** k for k in range(4)], dim=1)
model = torch.nn.Linear(4, 1, bias=False)
loss_fn = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for t in range(600):
    loss = loss_fn(model(features), y)
    if t % 200 == 0:
        print(t, loss.item())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("final", loss.item(), [round(v, 2) for v in model.weight.flatten().tolist()])
