"""The state was saved from a `DataParallel`, whose keys begin with "module."."""

import io

import torch
from torch import nn

torch.manual_seed(0)
file = io.BytesIO()
trained = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
torch.save({f"module.{k}": v for k, v in trained.state_dict().items()}, file)
file.seek(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
state = torch.load(file, weights_only=True)
print(model.load_state_dict(state, strict=False))  # <- finding
model.eval()
with torch.no_grad():
    print(model(torch.randn(3, 4)))
