import torch
from torch import nn

torch.manual_seed(21)

# energy consumption forecasting: 24 hours -> next hour
hours = torch.arange(3000).float()
load = torch.sin(hours / 24 * 6.283) + 0.1 * torch.randn(3000)
windows = load.unfold(0, 25, 1)
X, Y = windows[:, :24], windows[:, 24:]

model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

running_loss = 0.0
steps = 0
for epoch in range(4):
    order = torch.randperm(len(X))
    for idx in order.split(64):
        optimizer.zero_grad()
        loss = criterion(model(X[idx]), Y[idx])
        loss.backward()
        optimizer.step()
        running_loss += loss  # BUG memory-growth|graph-kept
        steps += 1
    print(f"epoch {epoch}: average loss so far {running_loss / steps:.4f}")


def history_length(value):
    node, count = getattr(value, "grad_fn", None), 0
    while node is not None:
        count += 1
        node = node.next_functions[0][0] if node.next_functions else None
    return count


print("autograd nodes held by the running loss:", history_length(running_loss))
