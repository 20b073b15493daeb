"""opacus: all modes of clipping and of per-sample gradients, accountants, and every layer."""

import warnings

import opacus
import torch
from _parts import show
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
torch.manual_seed(0)
data = TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
for accountant, clipping, mode in (
    ("rdp", "flat", "hooks"),
    ("prv", "flat", "ew"),
    ("gdp", "flat", "functorch"),
    ("rdp", "flat", "ghost"),
    ("rdp", "per_layer", "hooks"),
):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 3))
    criterion = nn.CrossEntropyLoss()
    engine = opacus.PrivacyEngine(accountant=accountant)
    private, optimizer, *rest = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), 0.1, momentum=0.9),
        data_loader=DataLoader(data, batch_size=8),
        noise_multiplier=1.0,
        max_grad_norm=[1.0] * 6 if clipping == "per_layer" else 1.0,
        clipping=clipping,
        grad_sample_mode=mode,
        criterion=criterion,
        noise_generator=torch.Generator().manual_seed(3),
    )
    loss = rest[0] if mode == "ghost" else criterion
    for x, y in rest[-1]:
        optimizer.zero_grad()
        loss(private(x), y).backward()
        optimizer.step()
    show(mode, model[0].weight)
    show(accountant, engine.get_epsilon(1e-5))
for layer, x in (
    (nn.Conv2d(3, 4, 3, padding=1), torch.randn(2, 3, 6, 6)),
    (nn.Conv1d(2, 4, 3, groups=2), torch.randn(2, 2, 6)),
    (nn.Conv3d(2, 2, 2), torch.randn(2, 2, 4, 4, 4)),
    (nn.GroupNorm(2, 4), torch.randn(2, 4, 5)),
    (nn.InstanceNorm1d(4, affine=True), torch.randn(2, 4, 5)),
    (nn.Embedding(5, 3), torch.randint(0, 5, (2, 4))),
    (nn.RMSNorm(4), torch.randn(2, 3, 4)),
    (opacus.layers.DPLSTM(3, 4, batch_first=True), torch.randn(2, 5, 3)),
    (opacus.layers.DPGRU(3, 4, batch_first=True), torch.randn(2, 5, 3)),
):
    sampled = opacus.GradSampleModule(layer)
    made = sampled(x)
    (made[0] if isinstance(made, tuple) else made).square().sum().backward()
    for parameter in sampled.parameters():
        show(type(layer).__name__, parameter.grad_sample)
