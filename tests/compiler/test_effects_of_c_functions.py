"""What functions of the standard library that are written in C change happens at each call of a
compiled step, or the step is not compiled.
"""

import copy
import csv
import heapq
import io
import pickle
import queue
import random
import sys
import threading
from collections import deque

import pytest

import pellucid as torch

pytestmark = pytest.mark.filterwarnings("ignore:.*runs eagerly", "ignore:.*stays in Python")


class Objects:
    def __init__(self):
        self.heap, self.text, self.bytes = [], io.StringIO(), io.BytesIO()
        self.writer, self.queue = csv.writer(self.text), queue.SimpleQueue()
        self.few, self.many, self.log = deque(maxlen=2), deque([3, 1, 2], maxlen=40), []
        self.limit = sys.getrecursionlimit()

    def state(self):
        return (
            [*self.heap],
            self.text.getvalue(),
            self.bytes.getvalue(),
            self.queue.qsize(),
            [float(v) for v in self.few],
            [float(v) for v in self.many],
            [*self.log],
            sys.getrecursionlimit() - self.limit,
        )


def thread(o, k):
    started = threading.Thread(target=o.log.append, args=(1,))
    started.start()
    started.join()


STEPS = {
    "push": lambda o, k: heapq.heappush(o.heap, 3),
    "push a number": lambda o, k: heapq.heappush(o.heap, -k),
    "push and pop": lambda o, k: (heapq.heappush(o.heap, k), heapq.heappop(o.heap)),
    "push over": lambda o, k: heapq.heappushpop(o.heap, k),
    "heapify": lambda o, k: (o.heap.insert(0, 9), heapq.heapify(o.heap)),
    "shuffle": lambda o, k: random.Random(0).shuffle(o.heap),
    "sort": lambda o, k: (o.heap.append(-k), o.heap.sort()),
    "few": lambda o, k: o.few.append(k),
    "rotate": lambda o, k: (o.many.append(k), o.many.rotate(1)),
    "csv": lambda o, k: o.writer.writerow([k]),
    "pickle": lambda o, k: pickle.dump(k, o.bytes),
    "queue": lambda o, k: o.queue.put(k),
    "thread": thread,
    "limit": lambda o, k: sys.setrecursionlimit(sys.getrecursionlimit() + 1),
}


@pytest.mark.parametrize("name", STEPS)
def test_at_each_call(name):
    found = []
    for compiled in (False, True):
        o, x, act = Objects(), torch.arange(3.0), STEPS[name]

        def step(k, o=o, x=x, act=act):
            y = (x * k).sum()
            act(o, k)
            return y * 2

        run = torch.compile(step) if compiled else step
        seen = []
        try:
            for k in range(5):
                seen.append((run(float(k)).item(), o.state()))
        finally:
            sys.setrecursionlimit(o.limit)
        found.append(seen)
    assert found[0] == found[1]
    assert found[0][0][1] != found[0][4][1] or name in ("push and pop", "push over", "shuffle")


def test_a_full_deque_still_takes_what_a_compiled_step_appends():
    losses, w = deque(maxlen=3), torch.nn.Parameter(torch.ones(2))

    def step(x):
        loss = (w * x).sum()
        losses.append(loss.detach())
        return loss

    run = torch.compile(step)
    for k in range(8):
        run(torch.full((2,), float(k)))
    assert [v.item() for v in losses] == [10.0, 12.0, 14.0]
    assert sum(version.hits for version in run.versions) > 3


@pytest.mark.parametrize(
    "ask",
    [
        lambda log, few: (type(log) is list, type(few) is deque),
        lambda log, few: (log.__class__ is list, few.__class__.__name__),
        lambda log, few: pickle.loads(pickle.dumps((log, few))),
        lambda log, few: (isinstance(log, list), [*log], list(reversed(few))),
        lambda log, few: copy.deepcopy((log, few)),
    ],
)
def test_a_list_that_grows_is_a_list(ask):
    found = []
    for compiled in (False, True):
        log, few, seen, x = [], deque(maxlen=3), [], torch.arange(3.0)

        def step(k, log=log, few=few, seen=seen, x=x):
            log.append(k)
            few.append(k)
            seen.append(ask(log, few))
            return x * k

        run = torch.compile(step) if compiled else step
        for k in range(6):
            run(float(k))
        found.append((seen, log, few))
    assert repr(found[0]) == repr(found[1])
