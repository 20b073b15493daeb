"""The features that five PyTorch tutorials name or show: modules, losses, optimizers, the training
loop (rows 164 to 207).
"""

from __future__ import annotations

import io

import pytest

import pellucid as torch
import pellucid.nn as nn
import pellucid.nn.functional as F
import pellucid.optim as optim
from pellucid.errors import full_text


def first_line(error: pytest.ExceptionInfo) -> str:
    return str(error.value).splitlines()[0]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))

    def forward(self, x):
        return self.net(x)


class TestModules:
    def test_rows_164_to_167_registration(self):
        model = Net()
        assert [name for name, _ in model.named_parameters()] == [
            "net.1.weight",
            "net.1.bias",
            "net.3.weight",
            "net.3.bias",
        ]
        assert model.net[1].weight.shape == (128, 784)
        x = torch.randn(4, 784)
        expected = x @ model.net[1].weight.T + model.net[1].bias
        assert torch.allclose(model.net[1](x), expected, atol=1e-5)

    def test_rows_168_and_169_initialisation(self):
        torch.manual_seed(0)
        layer = nn.Linear(4, 2)
        bound = 1 / 4**0.5
        assert layer.weight.abs().max().item() <= bound
        # PyTorch 2.13 gives these numbers after manual_seed(0).
        expected = [
            -0.003743410110473633,
            0.26822179555892944,
            -0.4115225672721863,
            -0.3679695129394531,
        ]
        assert torch.allclose(layer.weight[0].detach(), torch.tensor(expected), atol=1e-7)
        nn.init.xavier_uniform_(layer.weight)
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        nn.init.zeros_(layer.bias)
        assert layer.bias.tolist() == [0.0, 0.0]

    def test_rows_170_to_177_the_mlp(self):
        model = Net()
        assert sum(p.numel() for p in model.parameters()) == 101770
        assert model(torch.randn(8, 1, 28, 28)).shape == (8, 10)
        blocks = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.MaxPool2d(2)
        )
        assert blocks(torch.randn(2, 1, 8, 8)).shape == (2, 4, 3, 3)
        attention = nn.MultiheadAttention(8, 2, batch_first=True)
        x = torch.randn(2, 5, 8)
        out, weights = attention(x, x, x)
        assert out.shape == (2, 5, 8) and weights.shape == (2, 5, 5)

    def test_rows_178_to_182_modes_and_checkpoints(self):
        model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.9))
        assert model.to(torch.device("cpu")) is model
        model.eval()
        x = torch.randn(4, 3)
        assert torch.equal(model(x), model(x))
        model.train()
        assert model.training and model[2].training
        model(x)
        assert (
            model[1].num_batches_tracked.item() == 1
            and model[1].running_mean.abs().sum().item() > 0
        )
        state = model.state_dict()
        assert list(state) == [
            "0.weight",
            "0.bias",
            "1.weight",
            "1.bias",
            "1.running_mean",
            "1.running_var",
            "1.num_batches_tracked",
        ]
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        other = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.9))
        assert str(other.load_state_dict(torch.load(file))) == "<All keys matched successfully>"
        assert torch.equal(other[0].weight, model[0].weight)

    def test_rows_181_to_184_functional(self):
        x = torch.ones(100)
        assert (F.dropout(x, 0.5) == 0).any()
        assert torch.equal(F.dropout(x, 0.5, training=False), x)
        assert torch.equal(F.relu(torch.tensor([-1.0, 1.0])), torch.tensor([0.0, 1.0]))


class TestLosses:
    def test_rows_185_to_188(self):
        logits = torch.tensor([[2.0, 0.5], [0.1, 1.0]], requires_grad=True)
        labels = torch.tensor([0, 1])
        by_hand = -torch.log_softmax(logits, 1)[torch.arange(2), labels].mean()
        assert torch.allclose(F.cross_entropy(logits, labels), by_hand)
        assert torch.allclose(nn.CrossEntropyLoss()(logits, labels), by_hand)
        assert nn.MSELoss()(torch.ones(3), torch.zeros(3)).item() == 1.0

    def test_row_190_labels_must_be_integers(self):
        with pytest.raises(RuntimeError) as error:
            F.cross_entropy(torch.randn(2, 3), torch.tensor([0, 1], dtype=torch.int32))
        assert first_line(error) == "expected target dtype to be Long or Byte, but got Int"
        assert "long()" in full_text(error.value)

    def test_labels_out_of_range_are_named(self):
        with pytest.raises(IndexError) as error:
            F.cross_entropy(torch.randn(2, 3), torch.tensor([0, 3]))
        assert first_line(error) == "Target 3 is out of bounds."
        assert "element 1" in full_text(error.value)

    def test_row_191_nan_check(self):
        assert torch.isnan(torch.tensor(float("nan"))).item()


class TestTraining:
    def test_rows_192_to_199_the_loop(self):
        torch.manual_seed(1)
        w = torch.randn(3, requires_grad=True)
        x, target = torch.randn(64, 3), torch.randn(64)
        for make in (
            lambda p: optim.SGD(p, lr=0.1),
            lambda p: optim.SGD(p, lr=0.01, momentum=0.9),
            lambda p: optim.Adam(p, lr=0.05),
        ):
            w = torch.randn(3, requires_grad=True)
            optimizer = make([w])
            losses = []
            for _ in range(20):
                optimizer.zero_grad()
                loss = F.mse_loss(x @ w, target)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            assert losses[-1] < losses[0]
        optimizer.zero_grad(set_to_none=True)
        assert w.grad is None
        optimizer.zero_grad(set_to_none=False)

    def test_row_200_micro_batches_accumulate(self):
        w = torch.ones(1, requires_grad=True)
        for part in torch.tensor([1.0, 2.0, 3.0]).split(1):
            (w * part).sum().backward()
        assert w.grad.item() == 6.0

    def test_rows_201_to_204_clipping_and_decay(self):
        w = torch.ones(4, requires_grad=True)
        (w * 10).sum().backward()
        norm = nn.utils.clip_grad_norm_([w], 1.0)
        assert norm.item() == pytest.approx(20.0) and w.grad.norm().item() == pytest.approx(
            1.0, rel=1e-4
        )
        decayed = torch.ones(1, requires_grad=True)
        decayed.grad = torch.zeros(1)
        optim.SGD([decayed], lr=0.1, weight_decay=0.5).step()
        assert decayed.item() == pytest.approx(0.95)

    def test_optimizer_refuses_an_empty_list(self):
        with pytest.raises(ValueError) as error:
            optim.SGD([], lr=0.1)
        assert first_line(error) == "optimizer got an empty parameter list"

    def test_data_loader_trains_a_classifier(self):
        from pellucid.utils.data import DataLoader, TensorDataset

        torch.manual_seed(0)
        x = torch.randn(200, 2)
        y = (x[:, 0] * x[:, 1] > 0).long()
        model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        optimizer = optim.AdamW(model.parameters(), lr=0.05)
        for _ in range(20):
            for images, labels in DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True):
                optimizer.zero_grad()
                nn.CrossEntropyLoss()(model(images), labels).backward()
                optimizer.step()
        with torch.no_grad():
            assert (model(x).argmax(1) == y).float().mean().item() > 0.9


def test_a_small_transformer_learns():
    torch.manual_seed(0)
    tokens = torch.randint(0, 7, (8, 6))
    embed, layer, head = (
        nn.Embedding(7, 16),
        nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True),
        nn.Linear(16, 7),
    )
    parameters = [*embed.parameters(), *layer.parameters(), *head.parameters()]
    optimizer = optim.Adam(parameters, lr=0.01)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = F.cross_entropy(head(layer(embed(tokens))).view(-1, 7), tokens.view(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
