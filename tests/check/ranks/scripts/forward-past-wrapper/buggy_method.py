import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(10, 4), nn.Linear(4, 10)

    def forward(self, x):
        return self.decode(torch.tanh(self.encode(x)))

    def loss(self, x):
        return nn.functional.mse_loss(self(x), x)


dist.init_process_group("gloo")
torch.manual_seed(0)
model = DDP(Autoencoder())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
torch.manual_seed(1 + dist.get_rank())
for _ in range(4):
    optimizer.zero_grad()
    loss = model.module.loss(torch.randn(16, 10))  # <- finding
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
