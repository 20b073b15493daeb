"""An ensemble, its distillation with dropout at two strengths, a custom Function, weights averaged and batch norm renewed."""

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.sign(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Member(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(5, 16), nn.BatchNorm1d(16), nn.Linear(16, 2)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        return self.b(self.drop(torch.relu(self.norm(self.a(x)))))


torch.manual_seed(0)
data = TensorDataset(torch.randn(48, 5), torch.randint(0, 2, (48,)))
loader = DataLoader(data, batch_size=16, shuffle=True)
members = nn.ModuleList(Member(0.1 * k) for k in range(3))
for member in members:
    optimizer = torch.optim.Adam(member.parameters(), lr=0.01)
    for x, y in loader:
        loss = nn.functional.cross_entropy(member(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
members.eval()
student = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 2))
averaged = AveragedModel(members[0])
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for x, _ in loader:
    with torch.no_grad():
        soft = torch.stack([m(x).softmax(1) for m in members]).mean(0)
    codes = StraightThrough.apply(student[1](student[0](x)))
    loss = nn.functional.kl_div(student[2](codes).log_softmax(1), soft, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    averaged.update_parameters(members[0])
update_bn(loader, averaged)
averaged.eval()
with torch.no_grad():
    print(loss.item(), (averaged(data.tensors[0]).argmax(1) == data.tensors[1]).float().mean().item())
