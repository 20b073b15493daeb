import torch
import torch.nn as nn

torch.manual_seed(15)
n_feat = 30
w = torch.randn(n_feat)


def sample(n):
    x = 4 + 3 * torch.randn(n, n_feat)
    y = (((x - 4) / 3) @ w + 2 * torch.randn(n) > 0).long()
    return x, y


x, y = sample(300)
xv, yv = sample(1000)
model = nn.Sequential(nn.Linear(n_feat, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.5),
                      nn.Linear(128, 2))
opt = torch.optim.Adam(model.parameters(), lr=0.005)
ce = nn.CrossEntropyLoss()


def validate():
    model.eval()
    with torch.no_grad():
        out = model(xv)
    return ce(out, yv).item(), (out.argmax(1) == yv).float().mean().item()


model.train()  # BUG train-in-eval-mode
modes = []
for epoch in range(25):
    for idx in torch.randperm(300).split(30):  # BUG train-in-eval-mode
        modes.append(model.training)
        loss = ce(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    val_loss, val_acc = validate()
    if epoch % 6 == 0:
        print(f"epoch {epoch}: train {loss.item():.3f} val {val_loss:.3f} acc {val_acc:.3f}")
print(f"batches in training mode: {sum(modes)} of {len(modes)}")
