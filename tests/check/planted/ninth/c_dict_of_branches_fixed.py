# One branch for each modality, fused by a linear layer
import torch
from torch import nn

SIZES = {"image": 10, "text": 6, "audio": 4}


class Fusion(nn.Module):
    def __init__(self, hidden=12, classes=3):
        super().__init__()
        self.branches = nn.ModuleDict({name: nn.Linear(size, hidden) for name, size in SIZES.items()})
        self.classify = nn.Linear(hidden * len(SIZES), classes)

    def forward(self, inputs):
        parts = [torch.relu(self.branches[name](value)) for name, value in inputs.items()]
        return self.classify(torch.cat(parts, dim=1))


torch.manual_seed(9)
data = {name: torch.randn(240, size) for name, size in SIZES.items()}
target = (data["image"][:, 0] + data["text"][:, 0] > 0).long() + (data["audio"][:, 0] > 0).long()
net = Fusion()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for epoch in range(6):
    for rows in torch.randperm(240).split(40):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net({k: v[rows] for k, v in data.items()}), target[rows])
        loss.backward()
        opt.step()
    print(loss.item())
