"""Functions that are compiled around the lines that stay Python's."""

import contextlib
import itertools
import linecache
import random
import textwrap
import time
import traceback
import warnings

import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid import nn
from pellucid.compiler.capture.graph_breaks import GraphBreaks

from .eager_and_compiled import same

WARNING = torch.compiler.CompileWarning


# ---- the text: any function does what it did, wherever it is cut -------------------------------------------
COUNT = itertools.count()


def function_of(source, name="f"):
    """A function of a text that Python finds again."""
    file = f"<parts {next(COUNT)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = {"contextlib": contextlib, "log": []}
    exec(compile(source, file, "exec"), space)
    return space[name], space


def outcome(function, space, *args):
    """What a call returns or raises, at which line, and what it logs."""
    space["log"].clear()
    try:
        result = repr(function(*args))
    except Exception as error:
        line = [
            f.lineno
            for f in traceback.extract_tb(error.__traceback__)
            if f.filename.startswith("<parts")
        ][-1]
        # The name of a variable without a value stands in both messages; a variable of a closure is
        # called otherwise.
        result = (
            type(error).__name__,
            str(error).replace("cannot access free variable", "cannot access local variable")[:40],
            line,
        )
    return result, list(space["log"])


def check_all_cuts(source, inputs, rounds=40, seed=0):
    function, space = function_of(source)
    body = range(2, source.count("\n") + 1)
    choose = random.Random(seed)
    cuts = [{line} for line in body] + [
        set(choose.sample(body, min(len(body), choose.randint(1, 4)))) for _ in range(rounds)
    ]
    expected = [outcome(function, space, *given) for given in inputs]
    made = 0
    for k, lines in enumerate(cuts):
        parts = GraphBreaks(function, lambda f, first, last: f, lambda f: f)
        # With some code among what is called, all calls of these lines are written otherwise.
        if not parts.cut(lines, {outcome.__code__} if k % 2 else set()):
            continue
        made += 1
        for given, before in zip(inputs, expected, strict=True):
            assert outcome(parts, space, *given) == before, (
                f"{outcome(parts, space, *given)} for {before}, cut at {sorted(lines)} with {given}:\n{source}"
            )
    return made


class Programs:
    """Random functions of a few variables, with all statements that a step may have."""

    names = ("a", "b", "c", "d")

    def __init__(self, seed):
        self.choose = random.Random(seed)

    def expression(self):
        c = self.choose
        name, other = c.choice(self.names), c.choice(self.names)
        forms = [
            name,
            f"{name} + {c.randint(1, 3)}",
            f"abs({name} - {other})",
            f"max({name}, {other})",
            f"sum([{name} * k for k in range(3)])",
            f"sum({name} + k for k in range(2))",
            f"(lambda v: v + {other})({name})" if c.random() < 0.1 else f"-{name}",
            f"int(str({name}))",
            f"len([d for d in range({name} % 3)])",
        ]
        return c.choice(forms)

    def block(self, depth, loop, size=None):
        c = self.choose
        lines = []
        for _ in range(size or c.randint(1, 3)):
            kind = c.choice(
                ["set"] * 5
                + ["add", "log", "pair", "del", "global", "walrus"]
                + ["if", "if", "for", "while", "with", "try"] * (depth < 2)
                + ["return"] * (depth > 0)
                + ["break", "continue"] * (loop and depth > 0)
            )
            name, other = c.choice(self.names), c.choice(self.names)
            if kind == "set":
                lines.append(f"{name} = {self.expression()}")
            elif kind == "add":
                lines.append(f"{name} += {self.expression()}")
            elif kind == "log":
                lines.append(f"log.append({self.expression()})")
            elif kind == "pair":
                lines.append(f"{name}, {other} = {other}, {self.expression()}")
            elif kind == "del":
                lines.append(f"del {name}")
            elif kind == "global":
                lines.append(f"log.append(len(log) + {name})")
            elif kind == "walrus":
                lines.append(f"log.append(({name} := {self.expression()}))")
            elif kind == "if":
                lines += [f"if {self.expression()} % 2:", *self.block(depth + 1, loop)]
                if c.random() < 0.5:
                    lines += ["else:", *self.block(depth + 1, loop)]
            elif kind == "for":
                lines += [f"for {name} in range({c.randint(0, 3)}):", *self.block(depth + 1, True)]
            elif kind == "while":
                lines += [
                    f"while len(log) < {c.randint(1, 6)}:",
                    "    log.append(0)",
                    *self.block(depth + 1, True),
                ]
            elif kind == "with":
                lines += [
                    c.choice(
                        [
                            "with contextlib.suppress(ZeroDivisionError):",
                            f"with contextlib.nullcontext({self.expression()}) as {name}:",
                        ]
                    ),
                    *self.block(depth + 1, loop),
                ]
            elif kind == "try":
                lines += [
                    "try:",
                    *self.block(depth + 1, loop),
                    f"except ValueError as {c.choice(('e', name))}:",
                    *self.block(depth + 1, loop),
                ]
            elif kind == "return":
                lines.append(f"return {self.expression()}")
            else:
                lines.append(kind)
        return ["    " + line for line in lines]

    def source(self):
        return "\n".join(
            [
                "def f(a, b):",
                *self.block(0, False, self.choose.randint(4, 9)),
                "    return a, b",
                "",
            ]
        )


@pytest.mark.long
@pytest.mark.parametrize("seed", range(18))
def test_random_functions_do_what_they_did(seed):
    source = Programs(seed).source()
    check_all_cuts(source, [(0, 0), (1, 2), (5, 3)], rounds=15, seed=seed)


# ---- steps: eager's numbers, wherever a line stays in Python -----------------------------------------------
def seen(*values):
    """What a program cannot repeat, and the values it is given."""
    SEEN.append([v.detach().clone() if isinstance(v, torch.Tensor) else v for v in values])
    print(end="")


SEEN = []
STEPS = {
    "classifier": """
        def step(model, optimizer, x, y):
            optimizer.zero_grad()
            out = model(x)
            loss = F.cross_entropy(out, y)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            accuracy = (out.argmax(1) == y).float().mean().item()
            return loss, norm, accuracy
    """,
    "accumulation": """
        def step(model, optimizer, x, y):
            total = 0.0
            optimizer.zero_grad()
            for part, labels in zip(x.split(4), y.split(4)):
                loss = F.cross_entropy(model(part), labels) / 2
                total += loss.item()
                loss.backward()
            optimizer.step()
            if total > 1e9:
                return None
            return total
    """,
    "penalty": """
        def step(model, optimizer, x, y):
            x = x.clone().requires_grad_()
            out = model(x)
            (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
            loss = F.cross_entropy(out, y) + (slope.norm(dim=1) - 1).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.detach(), slope.detach()
    """,
    "views": """
        def step(model, optimizer, x, y):
            halves = x.view(2, -1)
            first, second = halves
            y2 = first
            first = first * 2
            second.mul_(0.5)
            out = model(x)
            h = out.relu_()
            loss = (out * h).sum() + first.sum() + y2.sum()
            del halves
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss, second, h
    """,
    "modes": """
        def step(model, optimizer, x, y):
            with torch.no_grad():
                before = model(x)
                noise = torch.rand_like(before)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                out = model(x)
                loss = F.cross_entropy(out.float(), y)
            loss = loss + ((out.float() - before) * noise).abs().mean()
            for p in model.parameters():
                p.grad = None
            loss.backward()
            for p in model.parameters():
                with torch.no_grad():
                    p -= 0.1 * p.grad
            return loss.detach()
    """,
    "dropout": """
        def step(model, optimizer, x, y):
            h = F.dropout(x, 0.3)
            n = torch.randn(8, 6)
            k = (n > 0).sum()
            out = model(h + n)
            if k.item() % 2:
                out = out * 2
            loss = F.cross_entropy(out, y, reduction="none")
            worst = loss.topk(2).values
            loss = loss.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.item(), worst, k
    """,
    "objects": """
        def step(model, optimizer, x, y):
            found = {"x": x * 2}
            found["h"] = model(found["x"])
            items = [found["h"].sum(), x.mean()]
            items.append(items[0] * items[1])
            loss = F.cross_entropy(found["h"], y) + 0 * items[-1]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return found, items
    """,
}


def world():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(6, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3)
    )
    return model, torch.optim.Adam(model.parameters(), lr=0.01)


def calls(step, times=6):
    """What some calls of a step return, see and leave behind."""
    model, optimizer = world()
    batches = torch.Generator().manual_seed(1)
    found = []
    SEEN.clear()
    for k in range(times):
        x = torch.randn(8 if k != 3 else 4, 6, generator=batches)
        y = torch.randint(0, 3, (len(x),), generator=batches)
        try:
            result = step(model, optimizer, x, y)
        except RuntimeError as error:
            result = str(error)
        found.append(
            [
                result,
                x,
                [v for held in SEEN for v in held],
                [p.detach().clone() for p in model.parameters()],
                [p.grad is None or p.grad.clone() for p in model.parameters()],
                [b.clone() for b in model.buffers()],
                torch.rand(1),
            ]
        )
        SEEN.clear()
    return found


def interrupted(source):
    """The step with something that stays in Python between any two statements, or before or after
    them.
    """
    lines = textwrap.dedent(source).strip("\n").splitlines()
    for k in range(1, len(lines)):
        indent = lines[k][: len(lines[k]) - len(lines[k].lstrip())]
        around = next(line for line in reversed(lines[:k]) if not line.startswith(indent))
        if around.lstrip().startswith("if "):
            continue
        names = ["x", "y"] + [
            n
            for n in ("loss", "out", "total")
            if any(line.startswith(f"    {n} = ") for line in lines[1:k])
        ]
        made = [*lines[:k], f"{indent}seen({', '.join(names)})", *lines[k:], ""]
        yield k, "\n".join(made)


@pytest.mark.long
@pytest.mark.parametrize("name", STEPS)
def test_steps_with_a_line_that_stays_pythons(name):
    for k, source in interrupted(STEPS[name]):
        function, space = function_of(source, "step")
        space.update(F=F, nn=nn, torch=torch, seen=seen)
        expected = calls(function)
        run = torch.compile(function)
        with pytest.warns(WARNING), warnings.catch_warnings():
            same(calls(run), expected, 2e-4, 2e-5, path=(f"line {k} of {name}",))


# ---- what is left to Python, and what is not ----------------------------------------------------------------
def compiled_calls(run):
    """How many calls of parts ran as programs, part by part."""
    assert run.graph_breaks is not None, run.history
    return [sum(v.hits for v in part.versions) for part in run.graph_breaks.made.values()]


def quietly(run, *args, times=6):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WARNING)
        return [run(*args) for _ in range(times)]


def equal_steps(make, times=6):
    """Call a step of two equal worlds, one of them compiled; the compiled function."""
    found = []
    for wrap in (lambda f: f, torch.compile):
        torch.manual_seed(0)
        step = wrap(make())
        found.append(
            (
                step,
                quietly(
                    step, torch.linspace(-1, 1, 48).reshape(8, 6), torch.arange(8) % 3, times=times
                ),
            )
        )
    same(found[1][1], found[0][1])
    return found[1][0]


def test_prints_and_clocks(capsys):
    def make():
        model, optimizer = world()

        def step(x, y):
            begin = time.perf_counter()
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            print(f"loss {loss.item():.3f}", time.perf_counter() > begin)
            return loss.detach()

        return step

    run = equal_steps(make)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 12 and lines[:6] == lines[6:] and lines[0].endswith("True")
    assert compiled_calls(run)[0] == 4, "the first call is traced as a whole, the second in parts"


def test_a_line_that_prints_now_and_then_costs_nothing_otherwise(capsys):
    def make():
        model, optimizer = world()
        at = {"step": 0}

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            if at["step"] % 4 == 0:
                print(at["step"], round(loss.item(), 3))
            at["step"] += 1
            return loss.detach()

        return step

    run = equal_steps(make, times=12)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == lines[3:]
    assert sum(compiled_calls(run)) + sum(v.hits for v in run.versions) >= 9


def test_a_module_whose_forward_prints(capsys):
    class Talking(nn.Module):
        def __init__(self):
            super().__init__()
            self.__hidden = 2.0
            self.first, self.last = nn.Linear(6, 16), nn.Linear(16, 3)

        def forward(self, x):
            """Says something."""
            h = torch.relu(self.first(x)) * self.__hidden
            print("mean", round(h.mean().item(), 4))
            return self.last(h).log_softmax(1)

    def make():
        model = Talking()
        run = torch.compile(model) if make.compiled else model
        make.compiled, make.model = True, run

        def step(x, y):
            for p in model.parameters():
                p.grad = None
            F.nll_loss(run(x), y).backward()
            return [p.grad.clone() for p in model.parameters()]

        return torch.compiler.disable(step)

    make.compiled = False
    equal_steps(make)
    run = make.model._compiled()
    assert compiled_calls(run) == [4, 4]
    lines = capsys.readouterr().out.splitlines()
    assert lines[:6] == lines[6:]
    model = make.model._orig_mod
    told = []
    handle = model.register_forward_hook(lambda *a: told.append(1))
    quietly(make.model, torch.ones(2, 6), times=2)
    assert len(told) == 2, "hooks are called"
    handle.remove()


def test_methods_private_names_and_super():
    class Base:
        def loss(self, out, y):
            return F.cross_entropy(out, y)

    class Trainer(Base):
        def __init__(self):
            self.model, self.optimizer = world()
            self.__history = []
            self.count = 0

        def loss(self, out, y):
            value = super().loss(out, y) * 2
            return value

        def step(self, x, y):
            self.optimizer.zero_grad()
            loss = super().loss(self.model(x), y)
            self.__history.append(f"{loss.item():.3f}")
            self.count += 1
            loss = loss + self.loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            return len(self.__history), self.count, loss.detach()

    equal_steps(lambda: Trainer().step)
    trainer = Trainer()
    run = torch.compile(trainer.step)
    quietly(run, torch.ones(8, 6), torch.arange(8) % 3)
    assert sum(n > 1 for n in compiled_calls(run)) == 2


def test_methods_that_are_decorated():
    class Trainer:
        def __init__(self):
            self.model, self.optimizer = world()

        @torch.compile
        def step(self, x, y):
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            seen(loss)
            return loss.detach() + 0

    one, other = Trainer(), Trainer()
    quietly(one.step, torch.ones(8, 6), torch.arange(8) % 3)
    quietly(other.step, torch.ones(8, 6), torch.arange(8) % 3)
    assert compiled_calls(one.step) == compiled_calls(other.step) == [4, 4]


def test_a_loop_over_a_loader():
    from pellucid.utils.data import DataLoader, TensorDataset

    def make():
        model, optimizer = world()
        data = DataLoader(TensorDataset(torch.randn(20, 6), torch.arange(20) % 3), batch_size=8)

        def epoch(x, y):
            total = 0.0
            for inputs, labels in data:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(inputs), labels)
                loss.backward()
                optimizer.step()
                if loss.isnan():
                    break
                total += loss.item() * len(labels)
            return total / 20

        return epoch

    run = equal_steps(make)
    assert max(compiled_calls(run)) >= 8
    assert "for inputs, labels in data:\n        loss, = _part_" in run.graph_breaks.text, (
        "the line that gives the batches, not the one that uses them"
    )


def test_what_a_mask_selects():
    def make():
        model, _ = world()
        model.eval()

        def predict(x, y):
            out = model(x).softmax(1)
            sure = out[out.max(1).values > 0.4]
            return out, sure, sure.sum(0)

        return torch.no_grad()(predict)

    run = equal_steps(make)
    assert compiled_calls(run)[0] == 4, "in the decorator, too"


def test_what_is_marked_as_python():
    @torch.compiler.disable
    def note(loss):
        return {"loss": loss.item()}

    def make():
        model, optimizer = world()

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            told = note(loss)
            optimizer.step()
            return told

        return step

    run = equal_steps(make)
    assert compiled_calls(run) == [4, 4], "the parts before and after the marked line"


def test_iterators_are_read_by_python():
    def make():
        model, optimizer = world()
        batches = iter([torch.randn(8, 6) for _ in range(20)])

        def step(x, y):
            inputs = next(batches)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs + x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    run = equal_steps(make)
    assert compiled_calls(run) == [4]


def test_evaluation_and_a_plateau_after_the_update():
    def make():
        model, optimizer = world()
        best = {"loss": float("inf")}
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)

        def step(x, y):
            model.train()
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            model.eval()
            with torch.no_grad():
                value = F.cross_entropy(model(x), y).item()
            if value < best["loss"]:
                best["loss"] = value
            schedule.step(value)
            return value, best["loss"], optimizer.param_groups[0]["lr"]

        return step

    run = equal_steps(make, times=20)
    assert max(compiled_calls(run)) > 10


def test_a_block_that_catches_errors():
    def make():
        model, optimizer = world()

        def step(x, y):
            try:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x), y)
                loss.backward()
                optimizer.step()
                seen(loss)
            except ValueError as error:
                print(error)
                return None
            return loss.detach()

        return step

    run = equal_steps(make)
    assert compiled_calls(run)[0] == 4


@pytest.mark.parametrize("kind", ["argument", "attribute"])
def test_refused_steps_are_not_traced_again_at_each_call(kind):
    """A step that is refused with each number that it is given was traced at each call, and told of
    each.
    """
    space = {"k": 0}

    def step(x, k):
        space["k"] = k
        values = [str(v) for v in x.tolist()]
        return len(values) + k, [float(v) * 2 for v in values]

    run = torch.compile(lambda x, k: step(x, k) if kind == "argument" else step(x, space["k"] + 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WARNING)
        for k in range(60):
            assert run(torch.ones(2), k)[0] == 2 + (k if kind == "argument" else k + 1)
    assert len(run.history) < 12


def test_a_part_in_which_a_used_graph_begins_is_not_traced_again():
    """It was traced at every eighth call, and told of each."""
    model, optimizer = world()

    def step(x, y):
        out = model(x)
        seen(out)
        slope = torch.autograd.grad(out.sum(), list(model.parameters()), create_graph=True)
        loss = F.cross_entropy(out, y) + sum(g.square().sum() for g in slope)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    run = torch.compile(step)
    quietly(run, torch.linspace(-1, 1, 48).reshape(8, 6), torch.arange(8) % 3, times=60)
    first = next(iter(run.graph_breaks.made.values()))
    assert not first.versions
    assert len(first.history) == 2 and "runs eagerly, as a graph begins in it" in first.history[1]


@pytest.mark.parametrize("inside", [True, False])
def test_a_part_may_begin_a_graph_if_all_other_uses_of_graphs_are_in_it(inside):
    """A penalty on a gradient, with a print of its value after it, ran eagerly as a whole."""

    def train(compiling):
        model, optimizer = world()
        told = []

        def step(x, y):
            x = x.clone().requires_grad_()
            out = model(x)
            (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
            penalty = (slope.norm(dim=1) - 1).square().mean()
            loss = F.cross_entropy(out, y)
            told.append(f"{penalty.item():.4f} {loss.item():.4f}")
            total = loss + penalty * 2
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            return total.detach()

        def again(x, y):
            x = x.clone().requires_grad_()
            out = model(x)
            loss = F.cross_entropy(out, y)
            told.append(f"{loss.item():.4f}")
            (slope,) = torch.autograd.grad(loss, x, create_graph=True)
            total = loss + slope.square().sum()
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            return total.detach()

        f = step if inside else again
        run = torch.compile(f) if compiling else f
        torch.manual_seed(3)
        losses = [quietly(run, torch.randn(8, 6), torch.arange(8) % 3, times=1) for _ in range(6)]
        return told, [p.detach() for p in model.parameters()], losses, run

    told, values, _, run = train(True)
    expected, others, _, _ = train(False)
    assert told == expected
    for a, b in zip(values, others, strict=True):
        torch.testing.assert_close(a, b)
    first = next(iter(run.graph_breaks.made.values()))
    assert (sum(v.hits for v in first.versions) >= 2) == inside


def test_files_and_pauses_are_no_constants(tmp_path):
    """A step went on as if a file that it had not found were never there, and did not wait any
    more.
    """
    flag = tmp_path / "stop"

    def step(x):
        if flag.exists():
            return x * 0
        time.sleep(0.001)
        return x * 2

    run = torch.compile(step)
    begin = time.perf_counter()
    assert [r.sum().item() for r in quietly(run, torch.ones(2), times=8)] == [4.0] * 8
    assert time.perf_counter() - begin > 0.008
    flag.write_text("")
    assert run(torch.ones(2)).sum().item() == 0.0


def test_errors_name_the_users_lines():
    def step(x, y):
        h = x * 2
        seen(h)
        return h @ y  # here

    run = torch.compile(step)
    quietly(run, torch.ones(2, 3), torch.ones(3, 2))
    with pytest.raises(RuntimeError) as caught:
        run(torch.ones(2, 3), torch.ones(4, 2))
    lines = [f.line for f in traceback.extract_tb(caught.value.__traceback__) if f.name == "step"]
    assert lines[-1] == "return h @ y  # here"
    quietly(run, torch.ones(2, 3), torch.ones(3, 2))


def test_whole_graphs_or_an_error():
    def step(x):
        print(end="")
        return x * 2

    run = torch.compile(step, fullgraph=True)
    for _ in range(2):
        with pytest.raises(torch.compiler.CompileError, match="prints"):
            run(torch.ones(2))


def test_what_is_told(capsys):
    def step(x):
        h = x * 2
        print(end="")
        h = h + 1
        seen(h)
        return h.sum()

    run = torch.compile(step)
    with pytest.warns(
        WARNING,
        match=r"step is compiled around a line that stays in Python: the step prints.*test_graph_breaks\.py",
    ) as told:
        for _ in range(4):
            run(torch.ones(2))
    assert len(told) == 1
    assert sum("is compiled around" in h for h in run.history) == 1, "both lines at once"
    text = str(run.explain())
    assert "stays in Python" in text and text.count("version 1 for") == 3 and "step, line " in text
    run.forget()
    assert run.graph_breaks is None


def test_graphs_that_are_used_in_other_ways_do_not_begin_in_parts():
    def make():
        model, _ = world()

        def step(x, y):
            inputs = x.clone().requires_grad_()
            h = model(inputs)
            h.retain_grad()
            seen(h)
            loss = F.cross_entropy(h, y)
            loss.backward()
            return inputs.grad, h.grad, [p.grad for p in model.parameters()]

        return step

    equal_steps(make)

    def attack(x, y):
        inputs = x.clone().requires_grad_()
        loss = F.cross_entropy(inputs @ WEIGHT, y)
        seen(loss)
        loss.backward()
        return inputs.grad

    equal_steps(lambda: attack)


WEIGHT = torch.linspace(-1, 1, 18).reshape(6, 3).requires_grad_()


def test_nothing_is_kept_alive():
    import weakref

    def make():
        model, optimizer = world()

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            seen(loss)
            loss.backward()
            optimizer.step()
            return loss

        return torch.compile(step), weakref.ref(model)

    run, model = make()
    loss = quietly(run, torch.ones(8, 6), torch.arange(8) % 3)[-1]
    held = weakref.ref(loss)
    SEEN.clear()
    del loss
    assert held() is None, "results live as long as their caller wants"
    del run
    import gc

    gc.collect()
    assert model() is None


# ---- functions and modules that are called -----------------------------------------------------
class Talking(nn.Module):
    """A block that may print in the middle of its forward."""

    def __init__(self, talks, log):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        self.talks, self.log = talks, log

    def forward(self, x):
        h = torch.tanh(self.first(x)).square() + x
        if self.talks:
            self.tell(h)
        h = F.gelu(self.second(h)) * 2
        return x + h.sigmoid()

    def tell(self, h):
        said = h.detach() * 2
        self.log.append(round(said.mean().item(), 3))


def told(x, log):
    y = x * 2 + 1
    log.append(f"{y.sum():.3f}")
    return y.tanh() - x


class Listed(nn.Module):
    def __init__(self, log):
        super().__init__()
        self.blocks = nn.ModuleList([Talking(k == 1, log) for k in range(3)])
        self.out = nn.Linear(6, 4)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.out(x)


class Calling(nn.Module):
    def __init__(self, log):
        super().__init__()
        self.inner, self.out, self.log = nn.Linear(6, 6), nn.Linear(6, 4), log

    def forward(self, x):
        x = self.inner(x).relu()
        x = told(x, self.log) + self.inner(x)
        return self.out(x * 2)


def in_turn(log):
    first = nn.Linear(6, 6), nn.Tanh(), Talking(False, log)
    return nn.Sequential(*first, Talking(True, log), nn.ReLU(), nn.Linear(6, 4))


CALLED = {"a list": Listed, "in turn": in_turn, "a function": Calling}


def steps_of(make, compiled, change=lambda model: None, penalty=False):
    """What six steps give, what they told, the compiled function, and the model."""
    torch.manual_seed(0)
    log = []
    model = make(log)
    change(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def plain(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def penalized(x, y):
        optimizer.zero_grad()
        x = x.requires_grad_()
        made = model(x)
        (g,) = torch.autograd.grad(made.sum(), x, create_graph=True)
        loss = F.cross_entropy(made, y) + g.square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = penalized if penalty else plain
    run = torch.compile(step) if compiled else step
    g = torch.Generator().manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WARNING)
        losses = [run(torch.randn(8, 6, generator=g), torch.arange(8) % 4).item() for _ in range(6)]
    return losses, log, run, model


def served(function):
    """Calls that compiled parts served, of a function and of all that is called in it."""
    parts = function.graph_breaks.parts if function.graph_breaks is not None else []
    return sum(sum(v.hits for v in part.versions) + served(part) for part in parts)


@pytest.mark.parametrize("make", CALLED.values(), ids=CALLED)
def test_what_is_called_is_parted_too(make):
    losses, log, *_ = steps_of(make, False)
    made, said, run, _ = steps_of(make, True)
    assert made == pytest.approx(losses, rel=1e-5) and list(map(str, said)) == list(map(str, log))
    assert served(run) >= 12
    assert "_within" not in run.graph_breaks.text


@pytest.mark.parametrize("make", CALLED.values(), ids=CALLED)
def test_graphs_of_what_is_called_serve_higher_derivatives(make):
    losses, log, *_ = steps_of(make, False, penalty=True)
    made, said, *_ = steps_of(make, True, penalty=True)
    assert made == pytest.approx(losses, rel=1e-5) and len(said) == len(log)


def test_hooks_of_what_is_called_run():
    def hooked(model):
        model.blocks[1].register_forward_hook(lambda m, args, out: out * 0.5)
        model.blocks[0].register_forward_pre_hook(lambda m, args: (args[0] + 1,))

    losses, log, *_ = steps_of(Listed, False, hooked)
    made, said, *_ = steps_of(Listed, True, hooked)
    assert made == pytest.approx(losses, rel=1e-5) and said == pytest.approx(log)


def test_modules_of_a_sequence_may_change():
    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        log = []
        model = in_turn(log)
        run = torch.compile(model) if compiled else model
        x = torch.randn(3, 6)
        made = []
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore", WARNING)
            for k in range(9):
                if k == 4:
                    model[1] = nn.Sigmoid()
                if k == 6:
                    model[3].talks = False
                if k == 7:
                    model.append(nn.Softmax(-1))
                made.append(run(x).tolist())
        results.append((made, log))
    (eager, said), (made, told) = results
    assert told == pytest.approx(said)
    for a, b in zip(eager, made, strict=True):
        assert [v for row in b for v in row] == pytest.approx([v for row in a for v in row])


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
def test_what_is_handed_through_a_part_stays_itself():
    @torch.compiler.disable
    def note(loss):
        return [loss.item()]

    def make():
        model, optimizer = world()

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            told = kept = note(loss)
            optimizer.step()
            norm = sum(p.norm() for p in model.parameters())
            return told, {"same": told is kept, "norm": norm}, kept

        return step

    run = equal_steps(make)
    assert compiled_calls(run)[0] == 4
    model, optimizer = world()
    handed = []

    @torch.compiler.disable
    def record(loss):
        handed.append({"loss": loss.item()})
        return handed[-1]

    @torch.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        told = record(loss)
        optimizer.step()
        return told, loss.detach()

    for _ in range(4):
        told, _ = step(torch.randn(8, 6), torch.randint(0, 3, (8,)))
        assert told is handed[-1]
