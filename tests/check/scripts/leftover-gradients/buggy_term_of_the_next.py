import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(58)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 6))
        self.dec = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 20))
        self.cls = nn.Linear(6, 4)

    def forward(self, x):
        z = self.enc(x)
        return self.dec(z), self.cls(z)


centers = torch.randn(4, 20)
model = AutoEncoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for step in range(200):
    y = torch.randint(0, 4, (64,))
    x = centers[y] + 0.5 * torch.randn(64, 20)
    recon, logits = model(x)
    recon_loss = F.mse_loss(recon, x)
    class_loss = F.cross_entropy(logits, y)
    optimizer.zero_grad()
    recon_loss.backward(retain_graph=True)  # <- finding
    loss = recon_loss + class_loss
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(step, recon_loss.item(), class_loss.item())
