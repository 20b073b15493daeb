"""Speaker verification from embeddings: pull together same speakers, push apart others."""
import torch
from torch import nn


class Siamese(nn.Module):
    def __init__(self, dim=24, out=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 48), nn.Tanh(), nn.Linear(48, out))

    def forward(self, a, b):
        return self.net(a), self.net(b)


def pairs(n, speakers):
    a = torch.randint(0, len(speakers), (n,))
    other = torch.randint(0, len(speakers), (n,))
    b = torch.where(torch.rand(n) < 0.5, a, other)
    # a loud common component hides who is speaking
    def record(who):
        return speakers[who] + 0.5 * torch.randn(n, 24) + 2.0

    same = (a == b).float()
    return record(a), record(b), same


torch.manual_seed(0)
speakers = torch.randn(12, 24)
left, right, same = pairs(1200, speakers)
left_val, right_val, same_val = pairs(300, speakers)

model = Siamese()
criterion = nn.CosineEmbeddingLoss(margin=0.2)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    idx = torch.randint(0, 1200, (64,))
    za, zb = model(left[idx], right[idx])
    loss = criterion(za, zb, same[idx])  # BUG label-range
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(f"step {step + 1} loss {loss.item():.4f}")

with torch.no_grad():
    similarity = torch.cosine_similarity(*model(left_val, right_val))
print("mean similarity, same", similarity[same_val == 1].mean().item(),
      "different", similarity[same_val == 0].mean().item())
