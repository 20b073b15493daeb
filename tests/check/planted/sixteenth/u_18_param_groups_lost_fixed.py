import torch
from torch import nn


class BagClassifier(nn.Module):
    def __init__(self, vocab=60, d=16, n_out=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.norm = nn.LayerNorm(d)
        self.fc = nn.Linear(d, n_out)

    def forward(self, ids):
        return self.fc(self.norm(self.embed(ids).mean(1)))


def build_optimizer(model, lr=1e-2, weight_decay=0.01):
    decay, no_decay = [], []
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            if isinstance(module, nn.Linear) and name == "weight":
                decay.append(p)
            else:
                no_decay.append(p)
    groups = [{"params": decay, "weight_decay": weight_decay},
              {"params": no_decay, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr)


torch.manual_seed(0)
ids = torch.randint(0, 60, (500, 8))
y = torch.stack([(ids % 4 == k).sum(1) for k in range(4)], 1).argmax(1)
model = BagClassifier()
start = model.embed.weight.detach().clone()
opt = build_optimizer(model)
for epoch in range(8):
    hit, total = 0, 0.0
    for sel in torch.randperm(500).split(50):
        out = model(ids[sel])
        loss = nn.functional.cross_entropy(out, y[sel])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
        hit += (out.argmax(1) == y[sel]).sum().item()
    print(f"epoch {epoch} loss {total / 10:.4f} acc {hit / 500:.3f}")
print("embedding moved", (model.embed.weight.detach() - start).norm().item())
