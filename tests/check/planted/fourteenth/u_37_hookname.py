import torch
import torch.nn as nn
import torch.nn.functional as F


class FeatureTap:
    """Collects intermediate activations by layer name."""

    def __init__(self, model, names):
        self.feats = {}
        self.handles = []
        modules = dict(model.named_modules())
        for name in names:
            def hook(module, inp, out):  # BUG hook-of-the-last
                self.feats[name] = out  # BUG hook-of-the-last
            self.handles.append(modules[name].register_forward_hook(hook))  # BUG hook-of-the-last

    def pop(self):
        out, self.feats = self.feats, {}
        return out

    def close(self):
        for h in self.handles:
            h.remove()


def cnn(width):
    net = nn.Sequential()
    net.add_module("conv1", nn.Conv2d(1, width, 3, padding=1))
    net.add_module("act1", nn.ReLU())
    net.add_module("pool", nn.MaxPool2d(2))
    net.add_module("conv2", nn.Conv2d(width, width, 3, padding=1))
    net.add_module("act2", nn.ReLU())
    net.add_module("gap", nn.AdaptiveAvgPool2d(1))
    net.add_module("flat", nn.Flatten())
    net.add_module("fc", nn.Linear(width, 4))
    return net


def hint_loss(fs, ft):
    return sum(F.mse_loss(fs[k], ft[k].detach()) for k in ft) / len(ft)


def data(n, gen):
    y = torch.randint(0, 4, (n,), generator=gen)
    x = torch.randn(n, 1, 8, 8, generator=gen) * 0.7
    for i, c in enumerate(y.tolist()):
        x[i, 0, 2 * c:2 * c + 2] += 1.0
    return x, y


torch.manual_seed(0)
gen = torch.Generator().manual_seed(0)
x, y = data(500, gen)
teacher, student = cnn(12), cnn(12)
opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for _ in range(40):
    loss = F.cross_entropy(teacher(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
teacher.eval().requires_grad_(False)

LAYERS = ["conv1", "conv2"]
tap_t, tap_s = FeatureTap(teacher, LAYERS), FeatureTap(student, LAYERS)
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
for ep in range(15):
    for idx in torch.randperm(len(x)).split(50):
        teacher(x[idx])
        logits = student(x[idx])
        loss = hint_loss(tap_s.pop(), tap_t.pop()) + 0.1 * F.cross_entropy(logits, y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
tap_t.close()
tap_s.close()
with torch.no_grad():
    gap1 = F.mse_loss(student.conv1(x), teacher.conv1(x)).item()
print(f"final loss {loss.item():.4f} conv1 gap {gap1:.4f}")
