"""Training steps with lines that no program can repeat, as scripts have them: prints and logs of
losses, clocks, progress, files, masks, iterators, values that Python computes with.
`training.py --lines` times them; their output goes nowhere.

Each function makes (step, inputs) with the library that it is given.
"""

import logging
import os
import time

NOWHERE = open(os.devnull, "w")  # noqa: SIM115 (as long as the process)
LOG = logging.getLogger("talking_models")
LOG.propagate = False
LOG.setLevel(logging.INFO)
LOG.addHandler(logging.StreamHandler(NOWHERE))


def _classifier(torch, width=64, dropout=0.1):
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(32, width),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, 5),
    )


def _batch(torch):
    return torch.randn(64, 32), torch.randint(0, 5, (64,))


def print_at_the_end(torch):
    """The loss, the gradient's norm and the time of each step."""
    model, F = _classifier(torch), torch.nn.functional
    optimizer = torch.optim.Adam(model.parameters())

    def step(x, y):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(
            f"loss {loss.item():.4f} norm {norm:.3f} {time.perf_counter() - begin:.3f} s",
            file=NOWHERE,
        )
        return loss.detach()

    return step, _batch(torch)


def print_before_backward(torch):
    """The loss between forward and backward, which are two programs then."""
    model, F = _classifier(torch), torch.nn.functional
    optimizer = torch.optim.Adam(model.parameters())

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        print(f"loss {loss.item():.4f}", file=NOWHERE)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, _batch(torch)


def print_now_and_then(torch):
    """Every hundredth step, with a counter."""
    model, F = _classifier(torch), torch.nn.functional
    optimizer = torch.optim.AdamW(model.parameters())
    at = {"step": 0}

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if at["step"] % 100 == 0:
            print(f"{at['step']}: {loss.item():.4f}", file=NOWHERE)
        at["step"] += 1
        return loss.detach()

    return step, _batch(torch)


def logging_meters(torch):
    """Running means of loss and accuracy, and a line of Python's logging."""

    class Meter:
        def __init__(self):
            self.sum = self.count = 0

        def update(self, value, n):
            self.sum += value * n
            self.count += n

        def __str__(self):
            return f"{self.sum / self.count:.3f}"

    model, F = _classifier(torch), torch.nn.functional
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses, right = Meter(), Meter()

    def step(x, y):
        out = model(x)
        loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.update(loss.item(), len(x))
        right.update((out.argmax(1) == y).float().mean().item(), len(x))
        LOG.info("loss %s accuracy %s", losses, right)
        return loss.detach()

    return step, _batch(torch)


def gan(torch):
    """Two networks in turn, both losses printed."""
    nn, F = torch.nn, torch.nn.functional
    maker = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32))
    judge = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    for_maker = torch.optim.Adam(maker.parameters(), lr=2e-4, betas=(0.5, 0.999))
    for_judge = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def step(real):
        made = maker(torch.randn(len(real), 16))
        yes, no = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        for_judge.zero_grad()
        judged = F.binary_cross_entropy_with_logits(
            judge(real), yes
        ) + F.binary_cross_entropy_with_logits(judge(made.detach()), no)
        judged.backward()
        for_judge.step()
        for_maker.zero_grad()
        fooled = F.binary_cross_entropy_with_logits(judge(made), yes)
        fooled.backward()
        for_maker.step()
        print(f"judge {judged.item():.3f} maker {fooled.item():.3f}", file=NOWHERE)
        return judged.detach()

    return step, (torch.randn(64, 32),)


def ppo(torch):
    """Three passes of a clipped objective, which ends early where the policy moves too far; what
    happened is printed.
    """
    nn, F = torch.nn, torch.nn.functional
    policy, value = _classifier(torch, dropout=0.0), nn.Linear(32, 1)
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=1e-4)

    def step(x, actions):
        with torch.no_grad():
            before = torch.distributions.Categorical(logits=policy(x)).log_prob(actions)
            baseline = value(x).squeeze(1)
        returns = x.sum(1)
        advantage = returns - baseline
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        for k in range(3):
            chosen = torch.distributions.Categorical(logits=policy(x))
            log_prob = chosen.log_prob(actions)
            ratio = (log_prob - before).exp()
            gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
            loss = (
                0.5 * F.mse_loss(value(x).squeeze(1), returns)
                - gain
                - 0.01 * chosen.entropy().mean()
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
            optimizer.step()
            moved = (before - log_prob).mean().item()
            if moved > 0.5:
                print(f"stops after {k}", file=NOWHERE)
                break
        print(f"moved {moved:.4f} loss {loss.item():.3f}", file=NOWHERE)
        return loss.detach()

    return step, _batch(torch)


def plateau(torch):
    """A validation loss after the update, the best of them kept, and a schedule that looks at it."""
    model, F = _classifier(torch), torch.nn.functional
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=10**6)
    best = {"loss": float("inf")}
    held_out = _batch(torch)

    def step(x, y):
        model.train()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            loss = F.cross_entropy(model(held_out[0]), held_out[1]).item()
        if loss < best["loss"]:
            best["loss"] = loss
        schedule.step(loss)
        return loss

    return step, _batch(torch)


def batches_of_an_iterator(torch):
    """A step that asks for its batch itself, and tells of its progress."""
    model, F = _classifier(torch), torch.nn.functional
    optimizer = torch.optim.Adam(model.parameters())
    kept = [_batch(torch) for _ in range(8)]

    def forever():
        while True:
            yield from kept

    batches = forever()

    def step():
        x, y = next(batches)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        NOWHERE.write(f"\r{loss.item():.3f}")
        return loss.detach()

    return step, ()


def epoch(torch):
    """A function that trains for an epoch and evaluates, as in tutorials."""
    model, F = _classifier(torch), torch.nn.functional
    optimizer = torch.optim.Adam(model.parameters())
    data = torch.utils.data.TensorDataset(torch.randn(512, 32), torch.randint(0, 5, (512,)))
    train, test = (
        torch.utils.data.DataLoader(data, batch_size=64),
        torch.utils.data.DataLoader(data, batch_size=256),
    )

    def run():
        model.train()
        for k, (x, y) in enumerate(train):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            if k % 4 == 0:
                print(f"batch {k} loss {loss.item():.3f}", file=NOWHERE)
        model.eval()
        right = 0
        with torch.no_grad():
            for x, y in test:
                right += (model(x).argmax(1) == y).sum().item()
        print(f"accuracy {right / len(data):.3f}", file=NOWHERE)
        return loss.detach()

    return run, ()


def sharpness_aware(torch):
    """A step up the gradient, another one down from there (SAM), and both norms in a line."""
    model, F = _classifier(torch, dropout=0.0), torch.nn.functional
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    parameters = list(model.parameters())

    def step(x, y):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        with torch.no_grad():
            norm = torch.norm(torch.stack([p.grad.norm() for p in parameters]))
            moves = [p.grad * (0.05 / (norm + 1e-12)) for p in parameters]
            for p, move in zip(parameters, moves):
                p.add_(move)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p, move in zip(parameters, moves):
                p.sub_(move)
        optimizer.step()
        print(f"norm {norm:.3f} loss {loss:.3f}", file=NOWHERE)
        return loss.detach()

    return step, _batch(torch)


MODELS = {
    f.__name__: f
    for f in (
        print_at_the_end,
        print_before_backward,
        print_now_and_then,
        logging_meters,
        gan,
        ppo,
        plateau,
        batches_of_an_iterator,
        epoch,
        sharpness_aware,
    )
}
