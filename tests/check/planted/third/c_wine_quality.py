import numpy as np
import torch
import torch.nn as nn

np.random.seed(0)
torch.manual_seed(0)

# eleven chemical measurements -> three quality grades
X = np.random.randn(600, 11).astype(np.float32)
score = X[:, 0] * 1.5 + X[:, 1] - X[:, 4] + 0.3 * np.random.randn(600)
Y = np.digitize(score, [-0.9, 0.9])

X_train, X_test = torch.from_numpy(X[:480]), torch.from_numpy(X[480:])
Y_train, Y_test = torch.from_numpy(Y[:480]).long(), torch.from_numpy(Y[480:]).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(11, 32)
        self.fc2 = nn.Linear(32, 3)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
loss_fn = nn.CrossEntropyLoss()
batch_size = 48

for epoch in range(10):
    order = torch.randperm(len(X_train))
    epoch_loss = 0.0
    for i in range(0, len(order), batch_size):
        idx = order[i:i + batch_size]
        optimizer.zero_grad()
        loss = loss_fn(net(X_train[idx]), Y_train[idx])
        loss.backward()
        optimizer.step  # BUG backward-without-step
        epoch_loss += loss.item() * len(idx)
    print("Epoch", epoch, "loss", round(epoch_loss / len(order), 4))

with torch.no_grad():
    accuracy = (net(X_test).argmax(dim=1) == Y_test).float().mean().item()
print("Test accuracy", accuracy)
