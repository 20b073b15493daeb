import torch
import torch.nn as nn

torch.manual_seed(0)


def build(depth, width, n_in, n_out):
    layers = [nn.Linear(n_in, width)]
    for _ in range(depth):
        layers += [nn.ReLU(), nn.Linear(width, width)]
    layers += [nn.ReLU(), nn.Linear(width, n_out)]
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_normal_(layer.weight)
    return nn.Sequential(*layers)


# two interleaved spirals
t = torch.rand(600) * 4 + 0.5
lab = torch.randint(0, 2, (600,))
ang = t * 1.5 + lab * 3.1416
pts = torch.stack([t * ang.cos(), t * ang.sin()], 1) / 3 + 0.02 * torch.randn(600, 2)

net = build(depth=10, width=32, n_in=2, n_out=2)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(60):
    for b in torch.randperm(600).split(100):
        opt.zero_grad()
        loss = ce(net(pts[b]), lab[b])
        loss.backward()
        opt.step()
    if epoch % 20 == 0:
        first, last = net[0].weight.grad.norm(), net[-1].weight.grad.norm()
        print(f"epoch {epoch}: loss {loss.item():.3f} |g first| {first:.1e} |g last| {last:.1e}")
print("accuracy", (net(pts).argmax(1) == lab).float().mean().item())
