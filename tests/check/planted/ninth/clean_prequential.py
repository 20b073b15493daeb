# Test, then train: every row is predicted before it is learned
import torch
from torch import nn

torch.manual_seed(136)
model = nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
right = seen = 0
w = torch.randn(5)
for t in range(200):
    x = torch.randn(1, 5)
    y = (x @ w > 0).float()
    with torch.no_grad():
        right += int((model(x).squeeze(1) > 0).float() == y)
    seen += 1
    loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(right / seen)
