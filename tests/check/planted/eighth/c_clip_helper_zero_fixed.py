import torch
import torch.nn as nn

torch.manual_seed(16)
series = torch.sin(torch.linspace(0, 60, 640)) + 0.05 * torch.randn(640)
windows = series.unfold(0, 21, 1)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(1, 12, batch_first=True)
        self.out = nn.Linear(12, 1)

    def forward(self, x):
        h, _ = self.rnn(x.unsqueeze(-1))
        return self.out(h[:, -1]).squeeze(-1)


model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    for batch in windows[torch.randperm(500)].split(50):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch[:, :-1]), batch[:, -1])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(epoch, loss.item())
