import numpy as np
import torch
import torch.nn as nn

SEED = 9
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)
features = rng.normal(size=(600, 10)).astype(np.float32)
target = (features[:, 0] * 2 + features[:, 3] > 0).astype(np.int64)

X = torch.from_numpy(features)
Y = torch.from_numpy(target)


def null_score(features, target, repeats=20):
    """Correlation that chance alone would give: shuffle the labels, look again."""
    scores = []
    shuffled = target.copy()
    for _ in range(repeats):
        rng.shuffle(shuffled)
        scores.append(abs(np.corrcoef(features[:, 0], shuffled)[0, 1]))
    return float(np.mean(scores))


print("null correlation", round(null_score(features, target), 4))

model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(10):
    for idx in torch.randperm(450).split(45):
        loss = nn.functional.cross_entropy(model(X[idx]), Y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        acc = (model(X[450:]).argmax(1) == Y[450:]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} acc {acc:.3f}")
