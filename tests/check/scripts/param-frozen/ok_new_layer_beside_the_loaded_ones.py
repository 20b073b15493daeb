"""First the head alone is trained, then the new layer beside the loaded ones, too."""

import torch
from torch import nn

torch.manual_seed(0)


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.stage1 = nn.Linear(5, 8)
        self.stage2 = nn.Linear(8, 8)

    def forward(self, x):
        return self.stage2(self.stage1(x).relu()).relu()


class Tuned(Base):
    def __init__(self):
        super().__init__()
        self.stage_mix = nn.Linear(8, 8)
        self.top = nn.Linear(8, 2)

    def forward(self, x):
        return self.top(self.stage_mix(super().forward(x)).tanh())


saved = Base().state_dict()
model = Tuned()
model.load_state_dict(saved, strict=False)
x, y = torch.randn(24, 5), torch.arange(24) % 2
for frozen in ("stage", "stage1", "nothing"):
    for name, p in model.named_parameters():
        p.requires_grad_(not name.startswith(frozen))
    opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    for step in range(5):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
