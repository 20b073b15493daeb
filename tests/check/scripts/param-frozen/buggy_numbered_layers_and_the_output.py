import torch
from torch import nn

torch.manual_seed(0)
W = torch.randn(12, 3)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(12, 16)
        self.layer1 = nn.Linear(16, 16)
        self.layer2 = nn.Linear(16, 16)
        self.layer_out = nn.Linear(16, 3)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        x = torch.relu(self.layer1(x))
        x = torch.relu(self.layer2(x))
        return self.layer_out(x)


model = Net()
for n, p in model.named_parameters():
    if n.startswith("layer"):
        p.requires_grad = False  # <- finding
opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
for step in range(20):
    x = torch.randn(32, 12)
    y = (x @ W).argmax(1)
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    opt.step()
print(loss.item())
