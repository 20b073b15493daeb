import torch
from torch import nn

torch.manual_seed(9)

# word counts of 20 words; spam mails use the first ones more often
rate = torch.ones(2, 20)
rate[1, :6] = 2.5
is_spam = torch.rand(900) < 0.4
counts = torch.poisson(rate[is_spam.long()])
features = torch.log1p(counts)
labels = torch.where(is_spam, 1.0, -1.0)  # BUG label-range

x_train, y_train = features[:700], labels[:700]
x_test, spam_test = features[700:], is_spam[700:]

model = nn.Sequential(nn.Linear(20, 16), nn.ELU(), nn.Linear(16, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for epoch in range(8):
    order = torch.randperm(700)
    for start in range(0, 700, 50):
        idx = order[start:start + 50]
        logits = model(x_train[idx]).squeeze(1)
        loss = criterion(logits, y_train[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = ((model(x_test).squeeze(1) > 0) == spam_test).float().mean()
    print(f"epoch {epoch}: loss {loss.item():.3f}, test accuracy {acc.item():.3f}")
