"""opacus: training with clipped per-sample gradients and noise, and the privacy budget spent."""

import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
from opacus import GradSampleModule, PrivacyEngine  # noqa: E402
from opacus.accountants import RDPAccountant  # noqa: E402
from opacus.accountants.utils import get_noise_multiplier  # noqa: E402
from opacus.layers import DPLSTM, DPMultiheadAttention  # noqa: E402
from opacus.utils.batch_memory_manager import BatchMemoryManager  # noqa: E402
from opacus.validators import ModuleValidator  # noqa: E402
from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

torch.manual_seed(0)
data = TensorDataset(torch.randn(40, 1, 8, 8), torch.randint(0, 3, (40,)))


def net():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2),
        nn.GroupNorm(2, 4),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(36, 8),
        nn.LayerNorm(8),
        nn.ReLU(),
        nn.Linear(8, 3),
    )


for options in (
    {},
    {"clipping": "per_layer", "max_grad_norm": [1.0] * 10},
    {"grad_sample_mode": "functorch"},
    {"grad_sample_mode": "ghost"},
):
    torch.manual_seed(1)
    model, criterion = net(), nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    engine = PrivacyEngine(accountant="rdp")
    given = {"noise_multiplier": 1.0, "max_grad_norm": 1.0, "poisson_sampling": False} | options
    made = engine.make_private(
        module=model,
        optimizer=optimizer,
        data_loader=DataLoader(data, 10),
        criterion=criterion,
        **given,
    )
    model, optimizer, *rest, loader = made
    criterion = rest[0] if rest else criterion
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    show(str(sorted(options)), loss.item())
    show("epsilon", engine.get_epsilon(1e-5))
    show("weights", sum(p.detach().abs().sum() for p in model.parameters()))
engine = PrivacyEngine()
model = net()
model, optimizer, loader = engine.make_private_with_epsilon(
    module=model,
    optimizer=torch.optim.Adam(model.parameters(), 0.01),
    data_loader=DataLoader(data, 10),
    target_epsilon=8.0,
    target_delta=1e-4,
    epochs=2,
    max_grad_norm=1.0,
)
show("noise", float(optimizer.noise_multiplier))
with BatchMemoryManager(
    data_loader=loader, max_physical_batch_size=4, optimizer=optimizer
) as small:
    for x, y in small:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
show("managed", sum(p.detach().abs().sum() for p in model.parameters()))
show("accounted", RDPAccountant().__len__())
show(
    "multiplier",
    float(get_noise_multiplier(target_epsilon=3.0, target_delta=1e-5, sample_rate=0.1, epochs=1)),
)
bad = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4))
print([type(e).__name__ for e in ModuleValidator.validate(bad)], ModuleValidator.fix(bad))
for layer, given in (
    (nn.Embedding(10, 4), torch.randint(0, 10, (3, 5))),
    (nn.Conv1d(2, 3, 3), torch.randn(3, 2, 7)),
    (nn.InstanceNorm2d(2, affine=True), torch.randn(3, 2, 4, 4)),
    (DPLSTM(4, 5, batch_first=True), torch.randn(3, 6, 4)),
    (nn.RMSNorm(4), torch.randn(3, 6, 4)),
):
    wrapped = GradSampleModule(layer)
    out = wrapped(given)
    (out[0] if isinstance(out, tuple) else out).square().sum().backward()
    show(type(layer).__name__, sum(p.grad_sample.abs().mean() for p in wrapped.parameters()))
attend = GradSampleModule(DPMultiheadAttention(8, 2))
q = torch.randn(4, 3, 8)
attend(q, q, q)[0].sum().backward()
show("attention", sum(p.grad_sample.abs().sum() for p in attend.parameters()))
