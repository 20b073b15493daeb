# Early stopping: the best weights are kept and loaded at the end
import copy
import torch
from torch import nn

torch.manual_seed(131)
x = torch.randn(200, 10)
y = (x[:, 0] + 0.5 * torch.randn(200) > 0).long()
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
best, best_state, patience = float("inf"), None, 0
for epoch in range(15):
    model.train()
    for rows in torch.randperm(140).split(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        valid = nn.functional.cross_entropy(model(x[140:]), y[140:]).item()
    scheduler.step(valid)
    if valid < best:
        best, best_state, patience = valid, copy.deepcopy(model.state_dict()), 0
    else:
        patience += 1
        if patience == 3:
            break
model.load_state_dict(best_state)
print(epoch, best)
