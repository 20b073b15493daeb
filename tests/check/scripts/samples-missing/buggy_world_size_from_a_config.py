import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

config = {"batch": 20, "epochs": 4, "world_size": 2, "rank": 1, "rate": 0.05}


def batches(data, config):
    shares = DistributedSampler(  # <- finding
        data, num_replicas=config["world_size"], rank=config["rank"], drop_last=True
    )
    return DataLoader(data, batch_sampler=BatchSampler(shares, config["batch"], drop_last=False))


torch.manual_seed(7)
features = torch.randn(200, 6)
labels = (features @ torch.randn(6) > 0).float()
loader = batches(TensorDataset(features, labels), config)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=config["rate"], momentum=0.9)
for epoch in range(config["epochs"]):
    for x, y in loader:
        loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", round(loss.item(), 4))
