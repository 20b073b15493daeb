"""einops: functions and layers, trained."""

import torch
from _parts import show
from einops import rearrange, reduce, repeat
from einops.layers.torch import Rearrange, Reduce

torch.manual_seed(0)
x = torch.randn(2, 3, 8, 8)
show("rearranged", rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2)[0, 1])
show("reduced", reduce(x, "b c h w -> b c", "max"))
show("repeated", repeat(x[0, 0], "h w -> h (w k)", k=3)[:, 4])
model = torch.nn.Sequential(
    Rearrange("b c h w -> b (h w) c"),
    torch.nn.Linear(3, 5),
    Reduce("b n c -> b c", "mean"),
    torch.nn.Linear(5, 2),
)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    loss = torch.nn.functional.cross_entropy(model(x), torch.tensor([0, 1]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    show("loss", loss)
