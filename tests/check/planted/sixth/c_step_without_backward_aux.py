import torch
import torch.nn as nn

torch.manual_seed(18)


class Trainer:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.history = []

    def fit(self, batches, epochs):
        for ep in range(epochs):
            for x, y in batches:
                self.opt.zero_grad()
                loss = self.compute_loss(x, y)
                self.opt.step()  # BUG step-without-backward
                self.history.append(loss.item())
            print(f"epoch {ep}: {sum(self.history[-len(batches):]) / len(batches):.4f}")

    def compute_loss(self, x, y):
        recon, cls = self.model(x)
        return nn.functional.mse_loss(recon, x) + nn.functional.cross_entropy(cls, y)


class AEClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(12, 8), nn.Tanh())
        self.dec = nn.Linear(8, 12)
        self.cls = nn.Linear(8, 3)

    def forward(self, x):
        z = self.enc(x)
        return self.dec(z), self.cls(z)


centers = torch.randn(3, 12) * 1.5
y = torch.randint(0, 3, (480,))
x = centers[y] + 0.4 * torch.randn(480, 12)
trainer = Trainer(AEClassifier())
trainer.fit(list(zip(x[:400].split(40), y[:400].split(40))), epochs=6)
with torch.no_grad():
    print("test acc", (trainer.model(x[400:])[1].argmax(1) == y[400:]).float().mean().item())
