"""timm: every optimizer for a few steps, and every schedule."""

import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
import timm.optim  # noqa: E402
import timm.scheduler  # noqa: E402

warnings.simplefilter("ignore")
for name in sorted(timm.optim.list_optimizers()):
    if name.startswith(("fused", "bnb", "apex", "lbfgs")):
        continue
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
    x, y = torch.randn(16, 8), torch.randn(16, 4)
    optimizer = timm.optim.create_optimizer_v2(model, name, lr=1e-2, weight_decay=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward(create_graph=name == "adahessian")
        optimizer.step()
    show(name, loss)
schedules = {
    "CosineLRScheduler": {"t_initial": 10, "lr_min": 1e-4, "warmup_t": 3, "cycle_limit": 2},
    "StepLRScheduler": {"decay_t": 4, "decay_rate": 0.5, "warmup_t": 2},
    "TanhLRScheduler": {"t_initial": 20},
    "PolyLRScheduler": {"t_initial": 20, "power": 2.0},
    "MultiStepLRScheduler": {"decay_t": [3, 7], "decay_rate": 0.1},
    "PlateauLRScheduler": {"decay_rate": 0.5, "patience_t": 2},
}
for name, options in schedules.items():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.1)
    schedule = getattr(timm.scheduler, name)(optimizer, **options)
    rates = []
    for epoch in range(15):
        schedule.step(epoch, 1.0)
        rates.append(round(optimizer.param_groups[0]["lr"], 5))
    print(name, rates)
