import torch
import torch.nn as nn


def build():
    return nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 1))


def graph_size(t):
    seen, todo = set(), [t.grad_fn] if torch.is_tensor(t) and t.grad_fn is not None else []
    while todo:
        f = todo.pop()
        if f is None or f in seen:
            continue
        seen.add(f)
        todo += [g for g, _ in f.next_functions]
    return len(seen)


torch.manual_seed(0)
model = build()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
w = torch.randn(64, 1) / 8
epoch_losses = []
for epoch in range(3):
    running_loss = 0.0
    for it in range(40):
        x = torch.randn(32, 64)
        y = torch.sin(x @ w)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    epoch_losses.append(running_loss / 40)
    print(f"epoch {epoch}: loss {float(epoch_losses[-1]):.4f}")
print("autograd nodes still alive through the log:", sum(graph_size(l) for l in epoch_losses))
