import torch
from torch import nn


class SwitchLayer(nn.Module):
    def __init__(self, d, n_experts):
        super().__init__()
        self.router = nn.Linear(d, n_experts)
        self.experts = nn.ModuleList([nn.Linear(d, 1) for _ in range(n_experts)])

    def forward(self, x):
        probs = torch.softmax(self.router(x), dim=-1)
        gate, choice = probs.max(dim=-1)
        out = torch.zeros(x.size(0), 1)
        for k, expert in enumerate(self.experts):
            rows = (choice == k).nonzero(as_tuple=True)[0]
            if rows.numel():
                out = out.index_add(0, rows, expert(x[rows]))  # BUG router-no-gradient|gradient-cut
        return out, choice


torch.manual_seed(1)
x = torch.randn(800, 6)
coef = torch.randn(2, 6)
regime = (x[:, 0] > 0).long()
y = (x * coef[regime]).sum(1, keepdim=True) + 3.0 * regime.unsqueeze(1).float()
layer = SwitchLayer(6, 4)
router_start = layer.router.weight.detach().clone()
opt = torch.optim.Adam(layer.parameters(), lr=1e-2)
for step in range(300):
    sel = torch.randint(0, 800, (128,))
    out, choice = layer(x[sel])
    loss = nn.functional.mse_loss(out, y[sel])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 75 == 74:
        use = torch.bincount(choice, minlength=4).tolist()
        print(f"step {step + 1} mse {loss.item():.4f} usage {use}")
print("router moved", (layer.router.weight.detach() - router_start).norm().item())
