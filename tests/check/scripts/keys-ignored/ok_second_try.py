"""What does not fit is noticed, and the keys are renamed."""

import torch
from torch import nn

torch.manual_seed(0)
state = {f"module.{k}": v for k, v in nn.Linear(4, 2).state_dict().items()}
model = nn.Linear(4, 2)
result = model.load_state_dict(state, strict=False)
if result.missing_keys:
    model.load_state_dict({k.removeprefix("module."): v for k, v in state.items()})
print(model(torch.randn(2, 4)).shape)
