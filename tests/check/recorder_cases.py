"""What the recorder must tell, as functions of (torch, engine): `test_recorder.py` runs them on
Pellucid, tests/oracle on PyTorch.
"""

import gc
import warnings
import weakref

import numpy as np
import pytest

from pellucid.check import Rule
from pellucid.check.events import VIEWS, ancestors, lineage
from pellucid.check.recording import instrument
from pellucid.check.rule import EVENTS
from pellucid.check.session import Session


class Collect(Rule):
    """Keeps every event with its name."""

    slug = "collect"
    id = "PL999"

    def __init__(self):
        self.events = []
        for name in EVENTS:
            setattr(self, name, lambda record, name=name: self.events.append((name, record)))


def watch(engine, program, **options):
    """The Collect rule of a watched call of `program`, and the result."""
    session = Session(engine, rules=[Collect], **options)
    session.start()
    try:
        program()
    finally:
        result = session.finish()
    assert result.notes == []
    return session.rules[0]


def ops(rule, *names):
    return [
        record
        for kind, record in rule.events
        if kind == "on_op" and (not names or record.name in names)
    ]


def of(rule, kind):
    return [record for name, record in rule.events if name == kind]


def case_names_and_arguments(torch, engine):
    F = torch.nn.functional
    x, y = torch.randn(2, 3), torch.randn(2, 3)

    def program():
        _ = x + y, 1 - x, 2 / x, x @ y.T, -x, x**2, x > 0, x[0], x[:, None], x.mT
        _ = x.softmax(1), torch.softmax(x, 1), F.softmax(x, dim=1), torch.nn.Softmax(dim=1)(x)
        _ = (
            F.cross_entropy(x, torch.tensor([0, 1]), label_smoothing=0.1),
            x.view(3, 2),
            x.permute(1, 0),
            x.sum(dim=0, keepdim=True),
        )
        _ = (
            torch.cat([x, y], dim=1),
            F.dropout(x, 0.3),
            x.clamp(min=0.0),
            torch.where(x > 0, x, y),
            x.float(),
            x.to(torch.float64),
        )
        _ = (
            F.binary_cross_entropy_with_logits(x, torch.ones_like(x)),
            F.pad(x, (1, 1)),
            torch.nn.Conv1d(2, 2, 1)(x),
        )

    rule = watch(engine, program)
    names = [op.name for op in ops(rule)]
    assert names[:12] == [
        "add",
        "sub",
        "div",
        "T",
        "matmul",
        "neg",
        "pow",
        "gt",
        "getitem",
        "getitem",
        "mT",
        "softmax",
    ]
    assert names.count("softmax") == 4
    by = {}
    for op in ops(rule):
        by.setdefault(op.name, []).append(op)
    assert by["sub"][0].args["input"] == 1 and by["sub"][0].args["other"].shape == (2, 3)
    assert by["div"][0].args["input"] == 2
    assert [op.args["dim"] for op in by["softmax"]] == [1] * 4
    assert [op.direct for op in by["softmax"]] == [True, True, True, False]
    loss = by["cross_entropy"][0]
    assert (
        loss.args["label_smoothing"] == 0.1
        and loss.args["ignore_index"] == -100
        and loss.args["reduction"] == "mean"
    )
    assert loss.args["target"].dtype == "int64" and loss.written("input") == "x"
    assert by["view"][0].args["shape"] == (3, 2) and by["permute"][0].args["dims"] == (1, 0)
    assert by["sum"][0].args["dim"] == 0 and by["sum"][0].args["keepdim"] is True
    assert [v.shape for v in by["cat"][0].inputs] == [(2, 3), (2, 3)] and by["cat"][0].args[
        "dim"
    ] == 1
    assert by["dropout"][0].args["p"] == 0.3 and by["dropout"][0].args["training"] is True
    assert by["clamp"][0].args["min"] == 0.0 and by["clamp"][0].args["max"] is None
    assert by["binary_cross_entropy_with_logits"][0].args["pos_weight"] is None
    assert by["conv1d"][0].args["weight"].shape == (2, 2, 1) and by["conv1d"][0].args["stride"] in (
        1,
        (1,),
    )
    assert by["getitem"][1].args["index"] == (slice(None), None)
    assert by["where"][0].args["condition"].dtype == "bool"


def case_inplace(torch, engine):
    x = torch.zeros(3, 2)

    def program():
        x.add_(1)
        x[0] = 5.0
        x.mul_(torch.tensor(2.0))
        y = x[:, 0]
        y += 1
        torch.add(x, 1, out=x)
        torch.nn.functional.relu(x, inplace=True)

    rule = watch(engine, program)
    written = [(op.name, op.inplace) for op in ops(rule) if op.name != "tensor"]
    assert written == [
        ("add", True),
        ("setitem", True),
        ("mul", True),
        ("getitem", False),
        ("add", True),
        ("add", True),
        ("relu", True),
    ]
    first, second, third = ops(rule, "add", "setitem", "mul")[:3]
    assert second.inputs[0].producer is first and third.inputs[0].producer is second
    assert first.inputs[0].id == second.inputs[0].id != ops(rule, "getitem")[0].outputs
    # The write through the view is a write to its base.
    out = ops(rule, "add")[2]
    assert out.args["input"].producer.name == "add" and out.args["input"].producer.inplace


def case_provenance(torch, engine):
    x = torch.randn(4, 3)

    def program():
        with torch.no_grad():
            p = torch.softmax(x, 1)
        q = p.clamp(min=0.1).double()[:, 1:].reshape(-1)
        return q.log()

    rule = watch(engine, program)
    last = ops(rule, "log")[0]
    # What nobody holds any more is still known by those made of it.
    assert [op.name for op in lineage(last.inputs[0], VIEWS | {"clamp"})][:5] == [
        "reshape",
        "getitem",
        "double",
        "clamp",
        "softmax",
    ]
    assert [op.name for op in lineage(last.inputs[0], VIEWS)] == [
        "reshape",
        "getitem",
        "double",
        "clamp",
    ]
    assert {op.name for op in ancestors(last.inputs)} == {
        "reshape",
        "getitem",
        "double",
        "clamp",
        "softmax",
    }


def case_modules(torch, engine):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)
            self.parts = nn.ModuleList([nn.Linear(4, 2)])

        def forward(self, x):
            return self.parts[0](torch.relu(self.fc(x)))

    def program():
        model = Block()
        criterion = nn.MSELoss()
        model.eval()
        criterion(model(torch.ones(2, 4)), torch.ones(2, 2))

    rule = watch(engine, program)
    calls = of(rule, "on_module_enter")
    assert [(c.path, c.class_name) for c in calls] == [
        ("model", "Block"),
        ("model.fc", "Linear"),
        ("model.parts.0", "Linear"),
        ("criterion", "MSELoss"),
    ]
    assert calls[1].parent is calls[0] and calls[2].root is calls[0] and calls[0].root is calls[0]
    assert not calls[0].training and calls[3].training
    linear = ops(rule, "linear")[0]
    assert (
        linear.module is calls[1]
        and not linear.direct
        and linear.site.text.startswith("return self.parts[0]")
    )
    assert calls[1].made.text == "self.fc = nn.Linear(4, 4)" and calls[0].made is None
    assert [s.training for s in of(rule, "on_switch")] == [False]
    assert ops(rule, "mse_loss")[0].written("target") == "torch.ones(2, 2)"


def case_recurrent_layers_are_one_operation(torch, engine):
    def program():
        layer = torch.nn.LSTM(3, 5, num_layers=2, dropout=0.25, batch_first=True)
        out, (h, c) = layer(torch.zeros(2, 4, 3))
        return out.sum() + h.sum() + c.sum()

    rule = watch(engine, program)
    (op,) = ops(rule, "lstm")
    assert [v.shape for v in op.inputs[:1]] == [(2, 4, 3)] and len(op.inputs) == 9
    assert op.args["dropout"] == 0.25 and op.args["training"] is True and op.args["num_layers"] == 2
    assert [
        name
        for name in (o.name for o in ops(rule))
        if name not in ("lstm", "zeros", "sum", "add", "uniform", "empty")
    ] == []


def case_training(torch, engine):
    nn = torch.nn
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.ones(4, 3), torch.zeros(4, 1)

    def program():
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        for _ in range(2):
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            loss.item()
            optimizer.step()
            scheduler.step()

    rule = watch(engine, program)
    kinds = [k for k, _ in rule.events if k not in ("on_op", "on_module_enter", "on_module_exit")]
    once = [
        "on_clear",
        "on_backward_begin",
        "on_backward",
        "on_read",
        "on_step_begin",
        "on_step",
        "on_scheduler_step",
    ]
    assert kinds == once * 2
    first, second = of(rule, "on_backward")
    assert [a.value.parameter for a in first.accumulated] == ["model.weight", "model.bias"]
    assert not any(a.onto for a in first.accumulated + second.accumulated)
    assert first.roots[0].producer.name == "mse_loss" and first.site.text == "loss.backward()"
    assert [s.number for s in of(rule, "on_step")] == [0, 1]
    assert (
        of(rule, "on_step")[0].optimizer.name == "optimizer"
        and of(rule, "on_step")[0].optimizer.class_name == "SGD"
    )
    assert [(s.before, s.after) for s in of(rule, "on_scheduler_step")] == [
        ([0.1], [0.05]),
        ([0.05], [0.025]),
    ]
    assert isinstance(of(rule, "on_read")[0].result, float) and of(rule, "on_read")[0].how == "item"


def case_updates(torch, engine):
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    kept = []

    class Updates(Rule):
        slug, id, wants_updates = "updates", "PL998", True

        def on_step(self, event):
            (value,) = event.optimizer.params()
            kept.append(event.update(value))

    session = Session(engine, rules=[Updates])
    session.start()
    optimizer = torch.optim.SGD([w], lr=0.5)
    for _ in range(5):
        optimizer.zero_grad()
        (w * torch.tensor([1.0, -2.0])).sum().backward()
        optimizer.step()
    session.finish()
    assert [u is None for u in kept] == [False, False, False, True, False]
    assert np.allclose(kept[0], [-0.5, 1.0])


def case_updates_by_hand_are_steps(torch, engine):
    def program():
        w = torch.ones(2, requires_grad=True)
        v = torch.ones(2, requires_grad=True)
        for _ in range(3):
            (w * v).sum().backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                v.data.sub_(0.1 * v.grad)
                v.clamp_(-1, 1)
            w.grad = None
            v.grad.zero_()

    rule = watch(engine, program)
    updates = of(rule, "on_update")
    assert [u.op.name for u in updates] == ["sub", "sub"] * 3 and [u.step for u in updates] == [
        0,
        1,
        1,
        2,
        2,
        3,
    ]
    assert len({u.value.id for u in updates}) == 2
    assert [c.how for c in of(rule, "on_clear")] == ["assigned"] * 3


def case_gradients_from_grad(torch, engine):
    def program():
        w = torch.ones(2, requires_grad=True)
        loss = (w * 3).sum()
        (g,) = torch.autograd.grad(loss, w, create_graph=True)
        torch.autograd.backward(loss + g.sum())
        return g * 2

    rule = watch(engine, program)
    first, second = of(rule, "on_backward")
    assert (
        first.how == "grad" and first.create_graph and first.retain_graph and not first.accumulated
    )
    assert second.how == "backward" and len(second.accumulated) == 1 and not second.retain_graph
    assert ops(rule, "mul")[-1].inputs[0].producer.name == "grad"


def case_arguments_of_backward(torch, engine):
    def program():
        loss = (torch.ones(2, requires_grad=True) ** 2).sum()
        loss.backward(None, True)
        loss.backward(create_graph=False, retain_graph=True)
        torch.autograd.backward([loss], None, True, False)
        torch.autograd.backward(tensors=(loss,))

    calls = of(watch(engine, program), "on_backward")
    assert [(c.retain_graph, c.create_graph) for c in calls] == [(True, False)] * 3 + [
        (False, False)
    ]
    assert all(c.roots[0].producer.name == "sum" and len(c.accumulated) == 1 for c in calls)
    assert [c.accumulated[0].onto for c in calls] == [False, True, True, True]


def case_reads(torch, engine):
    x = torch.tensor([1.5])

    def program():
        (
            x.item(),
            float(x),
            bool(x),
            int(x),
            x.tolist(),
            x.numpy(),
            np.asarray(x),
            f"{x.sum():.1f}",
            repr(x),
        )

    reads = of(watch(engine, program), "on_read")
    assert [r.how for r in reads] == [
        "item",
        "float",
        "bool",
        "int",
        "tolist",
        "numpy",
        "array",
        "format",
        "repr",
    ]
    assert [r.result for r in reads[:4]] == [1.5, 1.5, True, 1]


def case_loaders(torch, engine):
    data = torch.utils.data

    class Squares(data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, k):
            return torch.tensor(float(k)) ** 2

    def program():
        torch.manual_seed(0)
        loader = data.DataLoader(data.TensorDataset(torch.arange(5)), batch_size=2, shuffle=True)
        for _ in range(2):
            for (batch,) in loader:
                batch.sum()
        for batch in data.DataLoader(Squares(), batch_size=4):
            batch.sum()

    rule = watch(engine, program)
    batches = of(rule, "on_batch")
    assert [(b.epoch, b.position) for b in batches] == [
        (0, 0),
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 1),
        (1, 2),
        (0, 0),
        (0, 1),
    ]
    assert [b.values[0].shape for b in batches] == [(2,), (2,), (1,)] * 2 + [(4,), (1,)]
    assert sorted(k for b in batches[:3] for k in b.indices) == [0, 1, 2, 3, 4]
    assert (
        batches[0].loader.shuffle
        and not batches[-1].loader.shuffle
        and batches[0].loader.name == "loader"
    )
    assert [s.library for s in of(rule, "on_seed")] == ["torch"]
    assert len(ops(rule, "pow")) == 5  # the user's own data set is watched


def case_errors(torch, engine):
    def program():
        with pytest.raises((IndexError, RuntimeError)):
            torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 3]))
        with pytest.raises(RuntimeError):
            torch.zeros(2).backward()

    first, second = of(watch(engine, program), "on_error")
    assert first.op.name == "cross_entropy" and first.op.args["target"].numpy().tolist() == [0, 3]
    assert second.op.name == "backward"


def case_nothing_is_kept_alive(torch, engine):
    refs = []

    def program():
        big = torch.zeros(1000)
        y = (big + 1).softmax(0)
        refs.append(weakref.ref(y))
        del big, y
        assert refs[0]() is None

    gc.disable()
    try:
        watch(engine, program)
    finally:
        gc.enable()


def case_names_leave_nothing_in_frames(torch, engine):
    """Looking up what a variable is called must not keep what other variables held at that time."""

    def program():
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loss = model(torch.ones(1, 2)).sum()
        ref = weakref.ref(loss)
        loss.backward()
        optimizer.step()
        del loss
        assert ref() is None

    def holding():
        x = torch.ones(1)
        mine = locals()
        torch.nn.Identity()(x)
        assert mine["x"] is x

    gc.disable()
    try:
        rule = watch(engine, program)
        watch(engine, holding)
    finally:
        gc.enable()
    assert of(rule, "on_step")[0].optimizer.name == "optimizer"


def case_hooks_of_optimizers_run(torch, engine):
    seen = []

    def program():
        w = torch.ones(1, requires_grad=True)
        w.grad = torch.ones(1)
        optimizer = torch.optim.SGD([w], lr=0.5)
        optimizer.register_step_pre_hook(lambda *args: seen.append("before"))
        optimizer.register_step_post_hook(lambda *args: seen.append("after"))
        optimizer.step()
        assert w.item() == 0.5

    rule = watch(engine, program)
    assert seen == ["before", "after"] and len(of(rule, "on_step")) == 1


def case_old_operations_forget(torch, engine):
    """A state that is carried from step to step does not carry its whole history."""
    w = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.01)
    lengths = []

    class Depth(Rule):
        slug, id, ops = "depth", "PL997", ("add",)

        def on_op(self, op):
            lengths.append(sum(1 for _ in ancestors(op.outputs)))

    session = Session(engine, rules=[Depth])
    session.start()
    running = torch.zeros(1)
    layer = torch.nn.Identity()
    for _ in range(12):
        loss = (w * 2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running = layer(running * 0.9) + loss.detach()
    session.finish()
    assert lengths[-1] == lengths[-2] == lengths[6] < 25


def case_a_round_is_a_step_of_each_optimizer(torch, engine):
    """What the slow optimizer's step is made of is still known after the steps of the fast one."""
    a, b = (torch.ones(1, requires_grad=True) for _ in range(2))
    known = []

    class Known(Rule):
        slug, id = "known", "PL997"

        def on_backward_begin(self, event):
            known.append("exp" in {op.name for op in ancestors(event.roots)})

    session = Session(engine, rules=[Known])
    session.start()
    fast, slow = torch.optim.SGD([a], lr=0.01), torch.optim.SGD([b], lr=0.01)
    for _ in range(4):
        made = (b.exp() * 2) + 1
        for _ in range(5):
            fast.zero_grad()
            (a * made.detach()).sum().backward()
            fast.step()
        slow.zero_grad()
        made.sum().backward()
        slow.step()
    session.finish()
    assert known == [True] * 24


def case_views_of_versions(torch, engine):
    """Running statistics come from nothing however often they are written; a value is the same
    until it is written.
    """

    def program():
        norm = torch.nn.BatchNorm1d(2)
        for _ in range(2):
            norm(torch.randn(4, 2))

    first, second = ops(watch(engine, program), "batch_norm")
    a, b = first.args["running_mean"], second.args["running_mean"]
    assert a.id == b.id and not {"batch_norm", "randn"} & {op.name for op in ancestors([b])}
    assert first.args["weight"].number == second.args["weight"].number


def case_custom_function(torch, engine):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    def program():
        w = torch.ones(2, requires_grad=True)
        Double.apply(w * 3).sum().backward()

    rule = watch(engine, program)
    total = ops(rule, "sum")[0]
    made = total.inputs[0].producer
    assert made.name == "Double" and made.inputs[0].producer.name == "mul"
    assert {op.name for op in ancestors(total.inputs)} == {"Double", "mul", "ones"}


def case_compile_is_looked_through(torch, engine):
    def program():
        model = torch.compile(torch.nn.Linear(2, 1))

        @torch.compile(dynamic=False)
        def double(x):
            return x * 2

        double(model(torch.ones(1, 2)))

    assert {"linear", "mul"} <= {op.name for op in ops(watch(engine, program))}


def case_everything_is_put_back(torch, engine):
    owners = [
        torch.nn.Module,
        torch.optim.Optimizer,
        torch.optim.SGD,
        torch.utils.data.DataLoader,
        torch.autograd.Function,
    ]
    before = [dict(vars(owner)) for owner in owners]
    shown = (
        warnings.warn,
        warnings.showwarning,
        torch.manual_seed,
        torch.autograd.grad,
        torch.compile,
    )
    torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1)
    before[2] = dict(vars(torch.optim.SGD))
    watch(engine, lambda: torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1).step())
    assert [dict(vars(owner)) for owner in owners] == before
    assert shown == (
        warnings.warn,
        warnings.showwarning,
        torch.manual_seed,
        torch.autograd.grad,
        torch.compile,
    )


def case_numbers_of_things_that_come_and_go(torch, engine):
    """Each optimizer has a number of its own, also where the next one gets the memory of one that
    is gone.
    """
    seen = set()

    def program():
        weight = torch.nn.Parameter(torch.ones(2))
        for _ in range(5):
            # Many at a time: what the recorder keeps of each could take the memory of a single one.
            optimizers = [torch.optim.SGD([weight], lr=0.1) for _ in range(40)]
            seen.update(map(id, optimizers))
            optimizers.clear()  # gone before the next ones are made
            gc.collect()

    rule = watch(engine, program)
    assert len(seen) < 200  # some memory was used again
    assert [event.number for event in of(rule, "on_optimizer")] == list(range(200))


def _trained(torch, steps, at=None):
    """A program of so many steps; in those of `at` it calls what is there."""
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for step in range(steps):
        if at is not None and step in at:
            at[step](model)
        optimizer.zero_grad()
        loss = model(torch.ones(3, 2)).square().mean()
        loss.backward()
        optimizer.step()
    return model


def case_steps_that_repeat_are_not_recorded(torch, engine):
    """The first steps, then those around 96, 128, 192 ...; the numbers of steps stay right, and
    losses are seen in all of them."""
    rule = watch(engine, lambda: _trained(torch, 300), every_step=False)
    expected = [*range(64), *range(94, 98), *range(126, 130), *range(190, 194), *range(254, 258)]
    assert [event.number for event in of(rule, "on_step")] == expected
    assert [event.step for event in of(rule, "on_backward")] == expected
    assert sorted({op.step for op in ops(rule, "linear")}) == expected
    glimpses = of(rule, "on_glimpse")
    assert [g.step for g in glimpses] == [n for n in range(300) if n not in expected]
    assert {g.site for g in glimpses} == {of(rule, "on_backward")[0].site}
    assert all(0 <= g.loss < 100 for g in glimpses)


def case_fewer_steps_of_many_modules_are_recorded(torch, engine):
    """A rest begins after 24 steps where those have called modules enough; operations do not count,
    since the engines see different ones in a loader."""

    def large(model):
        for _ in range(30):
            model(torch.ones(3, 2))

    rule = watch(
        engine, lambda: _trained(torch, 60, dict.fromkeys(range(60), large)), every_step=False
    )
    steps = [event.number for event in of(rule, "on_step")]
    assert steps == [*range(24), *range(30, 34), *range(46, 50)]


def case_every_step_is_recorded_unless_rests_are_allowed(torch, engine):
    rule = watch(engine, lambda: _trained(torch, 100))
    assert len(of(rule, "on_step")) == 100 and not of(rule, "on_glimpse")


def case_a_new_block_ends_a_rest(torch, engine):
    """Between two steps the next one is recorded whole; after gradients were cleared, its
    operations are, but no backward is told of."""

    def told(model):
        instrument.blocks()

    rule = watch(engine, lambda: _trained(torch, 100, {80: told}), every_step=False)
    steps = [event.number for event in of(rule, "on_step")]
    assert steps == [*range(64), *range(80, 88), *range(94, 98)]

    def cleared(model):
        model.zero_grad()
        instrument.blocks()

    rule = watch(engine, lambda: _trained(torch, 100, {80: cleared}), every_step=False)
    assert 80 in {op.step for op in ops(rule, "linear")}
    assert 80 not in {event.number for event in of(rule, "on_step")}
    assert 81 in {event.number for event in of(rule, "on_step")}


def case_a_rest_ends_for_a_batch_of_another_shape_and_a_jump_of_the_loss(torch, engine):
    data = torch.utils.data

    def program():
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), 1e-6)
        loader = data.DataLoader(data.TensorDataset(torch.ones(171, 2)), batch_size=2)
        for number, (x,) in enumerate(loader):
            loss = (model(x) - (1 if number != 70 else 1000)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    rule = watch(engine, program, every_step=False)
    steps = {event.number for event in of(rule, "on_step")}
    assert {71, 72, 73, 74} <= steps and not {66, 69, 70} & steps
    assert 85 in steps and of(rule, "on_batch")[-1].values[0].shape == (1, 2)


def case_what_a_variable_holds_after_a_rest_is_known(torch, engine):
    """It was made as the one before it."""

    def program():
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        for _ in range(70):
            loss = model(torch.ones(3, 2)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        instrument.blocks()
        loss.item()

    rule = watch(engine, program, every_step=False)
    assert of(rule, "on_read")[-1].value.producer.name == "mean"


CASES = {
    name.removeprefix("case_"): function
    for name, function in list(globals().items())
    if name.startswith("case_")
}
