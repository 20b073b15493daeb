import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(60)
PAD, VOCAB = 0, 15


def sentences(n):
    result = []
    for _ in range(n):
        long = torch.rand(()) < 0.1
        length = int(torch.randint(30, 40, ()) if long else torch.randint(3, 8, ()))
        start = int(torch.randint(0, VOCAB - 1, ()))
        result.append((start + 2 * torch.arange(length)) % (VOCAB - 1) + 1)
    return pad_sequence(result, batch_first=True, padding_value=PAD)


class LanguageModel(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.lstm = nn.LSTM(dim, 32, batch_first=True)
        self.fc = nn.Linear(32, VOCAB)

    def forward(self, x):
        out, _ = self.lstm(self.emb(x))
        return self.fc(out)


model = LanguageModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
for step in range(60):
    batch = sentences(32)
    inputs, targets = batch[:, :-1], batch[:, 1:]
    logits = model(inputs)
    loss = criterion(logits.reshape(-1, VOCAB), targets.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 14:
        real = targets != PAD
        acc = (logits.argmax(-1) == targets)[real].float().mean().item()
        print(step, loss.item(), "accuracy on words", acc)
