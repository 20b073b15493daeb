# tf-idf by hand, then a linear classifier
import torch
from torch import nn

torch.manual_seed(40)
counts = torch.poisson(torch.rand(300, 40) * 0.8)
topic = (counts[:, :5].sum(1) > counts[:, 5:10].sum(1)).long()
document_frequency = (counts > 0).float().sum(0)  # BUG data-leak
idf = torch.log(len(counts) / (1 + document_frequency))
tfidf = nn.functional.normalize(counts * idf, dim=1)
train_x, train_y, test_x, test_y = tfidf[:240], topic[:240], tfidf[240:], topic[240:]
model = nn.Linear(40, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for epoch in range(5):
    model.train()
    for rows in torch.randperm(240).split(40):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(train_x[rows]), train_y[rows]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(epoch, (model(test_x).argmax(1) == test_y).float().mean().item())
