import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(22)
N, C = 200, 3
labels = torch.randint(0, C, (N,))
same = labels[:, None] == labels[None]
adj = (torch.rand(N, N) < torch.where(same, 0.06, 0.02)).float()
adj = ((adj + adj.t()) > 0).float().fill_diagonal_(1.0)
deg = adj.sum(1)
a_hat = adj / torch.sqrt(deg[:, None] * deg[None])
features = F.one_hot(labels, C).float() + 1.5 * torch.randn(N, C)
features = torch.cat([features, torch.randn(N, 29)], 1)
order = torch.randperm(N)
train_mask = torch.zeros(N, dtype=torch.bool)
train_mask[order[:60]] = True
test_mask = torch.zeros(N, dtype=torch.bool)
test_mask[order[100:]] = True


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(32, 32)
        self.w2 = nn.Linear(32, C)
        self.drop = nn.Dropout(0.3)

    def forward(self, x):
        x = torch.relu(self.w1(a_hat @ x))
        return self.w2(a_hat @ self.drop(x))


model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=5e-4)
for epoch in range(60):
    model.train()
    optimizer.zero_grad()
    out = model(features)
    loss = F.cross_entropy(out, labels)  # BUG data-leak
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        pred = model(features).argmax(1)
    test_acc = (pred[test_mask] == labels[test_mask]).float().mean().item()
print("loss", loss.item(), "test accuracy", test_acc)
