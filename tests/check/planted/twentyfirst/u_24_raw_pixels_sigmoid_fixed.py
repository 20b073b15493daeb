import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)

img = torch.randint(0, 256, (256, 49)).float()
lab = (img[:, :24].mean(1) > img[:, 25:].mean(1)).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(49, 32)
        self.out = nn.Linear(32, 2)

    def forward(self, x):
        return self.out(torch.sigmoid(self.fc((x - 127.5) / 255)))


net = Net()
nn.init.normal_(net.fc.weight, std=0.5)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(4):
    for i in range(0, 256, 32):
        loss = F.cross_entropy(net(img[i : i + 32]), lab[i : i + 32])
        opt.zero_grad()
        loss.backward()
        opt.step()
