# Music genres: a final log sigmoid, negative log likelihood
import torch
from torch import nn

torch.manual_seed(17)
genre = torch.randint(0, 5, (350,))
spectrum = torch.randn(5, 30)[genre] + torch.randn(350, 30)
model = nn.Sequential(
    nn.Linear(30, 32),
    nn.ReLU(),
    nn.Linear(32, 5),
    nn.LogSigmoid(),  # BUG nll-without-log-softmax
)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(6):
    for rows in torch.randperm(350).split(35):
        optimizer.zero_grad()
        loss = nn.functional.nll_loss(model(spectrum[rows]), genre[rows])  # BUG nll-without-log-softmax
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
