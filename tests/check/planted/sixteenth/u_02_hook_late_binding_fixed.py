import torch
from torch import nn

torch.manual_seed(0)


class FeatureTap:
    def __init__(self, net, names):
        self.feats = {}
        modules = dict(net.named_modules())
        for name in names:
            modules[name].register_forward_hook(lambda m, i, o, name=name: self.feats.__setitem__(name, o))

    def collect(self):
        out = dict(self.feats)
        self.feats.clear()
        return out


def make_net():
    return nn.Sequential(
        nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 4),
    )


LAYERS = ["1", "3", "4"]
teacher, student = make_net().eval(), make_net()
for p in teacher.parameters():
    p.requires_grad_(False)
t_tap, s_tap = FeatureTap(teacher, LAYERS), FeatureTap(student, LAYERS)
opt = torch.optim.Adam(student.parameters(), lr=3e-3)
x = torch.randn(256, 10)

for step in range(150):
    xb = x[torch.randint(0, 256, (64,))]
    teacher(xb)
    student(xb)
    t_f, s_f = t_tap.collect(), s_tap.collect()
    loss = sum(nn.functional.mse_loss(s_f[k], t_f[k]) for k in s_f)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(f"step {step + 1} loss {loss.item():.4f} matched layers {len(s_f)}")
with torch.no_grad():
    gap = nn.functional.mse_loss(student[:2](x), teacher[:2](x)).item()
print(f"first hidden layer gap {gap:.4f}")
