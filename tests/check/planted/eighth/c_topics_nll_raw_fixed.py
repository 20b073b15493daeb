# Topic of a headline with a GRU, negative log likelihood
import torch
import torch.nn as nn

torch.manual_seed(9)
VOCAB, TOPICS = 60, 3


class TopicGRU(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 12)
        self.gru = nn.GRU(12, 20, batch_first=True)
        self.decide = nn.Linear(20, TOPICS)

    def forward(self, tokens):
        _, hidden = self.gru(self.embed(tokens))
        return torch.log_softmax(self.decide(hidden[-1]), dim=-1)


tokens = torch.randint(0, VOCAB, (360, 10))
topics = (tokens[:, -1] // 20)
model = TopicGRU()
criterion = nn.NLLLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.003)
for epoch in range(5):
    for i in range(0, 300, 30):
        optimizer.zero_grad()
        loss = criterion(model(tokens[i:i + 30]), topics[i:i + 30])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print(epoch, loss.item(), (model(tokens[300:]).argmax(1) == topics[300:]).float().mean().item())
