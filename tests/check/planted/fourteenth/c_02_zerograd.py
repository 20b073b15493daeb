import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)

N, D = 512, 24
w_true = torch.randn(D, 1)
X = torch.randn(N, D)
Y = torch.tanh(X @ w_true) + 0.1 * torch.randn(N, 1)


class Encoder(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, h))

    def forward(self, x):
        return self.net(x)


class Trainer:
    def __init__(self, enc, head, lr_enc=3e-3, lr_head=0.02):
        self.enc, self.head = enc, head
        self.opt_enc = torch.optim.Adam(enc.parameters(), lr=lr_enc)
        self.opt_head = torch.optim.SGD(head.parameters(), lr=lr_head)
        self.loss_fn = nn.MSELoss()
        self.log = []

    def train_step(self, xb, yb):
        self.opt_head.zero_grad()  # BUG missing-zero-grad
        z = self.enc(xb)
        loss = self.loss_fn(self.head(z), yb)
        loss.backward()  # BUG missing-zero-grad
        self.opt_enc.step()  # BUG missing-zero-grad
        self.opt_head.step()
        return loss.item()

    def run(self, loader, epochs):
        for ep in range(epochs):
            self.enc.train()
            self.head.train()
            losses = [self.train_step(xb, yb) for xb, yb in loader]
            self.log.append(sum(losses) / len(losses))
            print(f"epoch {ep} loss {self.log[-1]:.4f}")


train_dl = DataLoader(TensorDataset(X[:400], Y[:400]), batch_size=40, shuffle=True)
enc, head = Encoder(D, 16), nn.Linear(16, 1)
t = Trainer(enc, head)
t.run(train_dl, 15)

enc.eval()
head.eval()
with torch.no_grad():
    val = nn.functional.mse_loss(head(enc(X[400:])), Y[400:])
print("final val mse %.4f" % val.item())
