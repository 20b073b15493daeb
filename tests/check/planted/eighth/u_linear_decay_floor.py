# Linear decay of the learning rate over all steps
import torch
from torch import nn

torch.manual_seed(15)
STEPS = 80
x = torch.randn(400, 10)
y = (x @ torch.randn(10, 1)).tanh()
model = nn.Sequential(nn.Linear(10, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.LambdaLR(
    optimizer,
    lambda step: max(0, (STEPS - step) // STEPS),  # BUG lr-absurd
)
for step in range(STEPS):
    rows = torch.randint(0, 400, (50,))
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x[rows]), y[rows])
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 20 == 0:
        print(step, loss.item())
