"""Intent classification of short utterances (token ids) with a GRU."""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, INTENTS, LENGTH = 60, 6, 9


class IntentNet(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.gru = nn.GRU(dim, 32, batch_first=True)
        self.out = nn.Linear(32, INTENTS)

    def forward(self, tokens, probabilities=True):
        _, h = self.gru(self.emb(tokens))
        scores = self.out(h[-1])
        return scores.softmax(-1) if probabilities else scores

    @torch.no_grad()
    def confidence(self, tokens):
        return self(tokens).max(-1)


def utterances(n):
    intent = torch.randint(INTENTS, (n,))
    tokens = torch.randint(INTENTS * 4, VOCAB, (n, LENGTH))
    keyword = intent * 4 + torch.randint(4, (n,))
    tokens[torch.arange(n), torch.randint(LENGTH, (n,))] = keyword
    return tokens, intent


torch.manual_seed(5)
tokens, intent = utterances(900)
test_tokens, test_intent = utterances(200)
net = IntentNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)

for step in range(150):
    pick = torch.randint(len(tokens), (64,))
    loss = F.cross_entropy(net(tokens[pick], probabilities=False), intent[pick])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(step + 1, round(loss.item(), 4))

conf, guess = net.confidence(test_tokens)
print("accuracy", (guess == test_intent).float().mean().item(), "confidence", conf.mean().item())
