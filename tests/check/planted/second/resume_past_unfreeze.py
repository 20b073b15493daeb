"""Fine-tuning with a scheduled unfreeze and a resume in the middle."""
import io
import torch
from torch import nn

EPOCHS, UNFREEZE_AT = 10, 3


def build():
    body = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 8), nn.Tanh())
    return nn.ModuleDict({"body": body, "head": nn.Linear(8, 2)})


def data(n):
    x = torch.randn(n, 8)
    return x, (x[:, 0] * x[:, 1] > 0).long()


def train(model, start, stop):
    for p in model["body"].parameters():
        p.requires_grad = False
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(start, stop):
        if epoch == UNFREEZE_AT:  # BUG param-frozen
            for p in model["body"].parameters():
                p.requires_grad = True
        for _ in range(30):
            x, y = data(64)
            loss = nn.functional.cross_entropy(model["head"](model["body"](x)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


torch.manual_seed(0)
model = build()
train(model, 0, 3)
ckpt = io.BytesIO()
torch.save({"model": model.state_dict(), "epoch": 4}, ckpt)
# the job is killed and started again
ckpt.seek(0)
state = torch.load(ckpt, weights_only=True)
model = build()
model.load_state_dict(state["model"])
print("final loss", train(model, state["epoch"], EPOCHS))
with torch.no_grad():
    x, y = data(500)
    print("acc", (model["head"](model["body"](x)).argmax(1) == y).float().mean().item())
