# Two backward passes over one graph, with retain_graph on the first on purpose (gradients of the two terms are compared).
import torch
from torch import nn

torch.manual_seed(22)
x = torch.randn(500, 8)
y = torch.tanh(x[:, :1] - x[:, 1:2])
enc = nn.Sequential(nn.Linear(8, 16), nn.Tanh())
pred, recon = nn.Linear(16, 1), nn.Linear(16, 8)
params = [*enc.parameters(), *pred.parameters(), *recon.parameters()]
opt = torch.optim.Adam(params, lr=5e-3)
w = enc[0].weight
for step in range(400):
    idx = torch.randint(0, 400, (50,))
    z = enc(x[idx])
    main_loss = nn.functional.mse_loss(pred(z), y[idx])
    aux_loss = 0.1 * nn.functional.mse_loss(recon(z), x[idx])
    opt.zero_grad()
    main_loss.backward(retain_graph=True)
    g_main = w.grad.clone()
    aux_loss.backward()
    cos = nn.functional.cosine_similarity(g_main.flatten(), (w.grad - g_main).flatten(), dim=0)
    opt.step()
    if step % 100 == 99:
        print(f"step {step + 1} main {main_loss.item():.4f} aux {aux_loss.item():.4f} cosine {cos.item():+.3f}")
with torch.no_grad():
    print("test mse", nn.functional.mse_loss(pred(enc(x[400:])), y[400:]).item(), "variance", y[400:].var().item())
