"""A part of a state, and a state with more than the model needs."""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, classes)

    def forward(self, x):
        return self.head(self.body(x).relu())


old, new = Net(5), Net(2)
state = {k: v for k, v in old.state_dict().items() if not k.startswith("head.")}
new.load_state_dict(state, strict=False)
body = {k.removeprefix("body."): v for k, v in old.state_dict().items() if "body" in k}
single = nn.Linear(4, 8)
single.load_state_dict({**body, "extra": torch.zeros(1)}, strict=False)
print(new(torch.randn(2, 4)).shape, single(torch.randn(2, 4)).shape)
