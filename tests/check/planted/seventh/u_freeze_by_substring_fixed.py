import torch
from torch import nn


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc_in = nn.Linear(12, 32)
        self.enc_out = nn.Linear(32, 32)
        self.sentence_head = nn.Linear(32, 3)

    def forward(self, x):
        return self.sentence_head(torch.tanh(self.enc_out(torch.tanh(self.enc_in(x)))))


def freeze(model, pattern):
    for name, p in model.named_parameters():
        if name.startswith(pattern + "_"):
            p.requires_grad = False


torch.manual_seed(2)
x = torch.randn(600, 12)
y = (x @ torch.randn(12, 3)).argmax(1)
model = Captioner()
freeze(model, "enc")
model.enc_out.requires_grad_(True)   # only the first layer stays fixed
head0 = model.sentence_head.weight.clone()
opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
for epoch in range(10):
    for b in torch.randperm(600).split(60):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x[b]), y[b])
        loss.backward()
        opt.step()
    if epoch % 3 == 0:
        print("epoch", epoch, "loss", round(loss.item(), 4))
print("head changed:", not torch.equal(head0, model.sentence_head.weight))
