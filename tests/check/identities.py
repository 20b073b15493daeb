"""`id` as bad as it may be, for the modules of `pellucid.check`.

The number of an object that is gone may be given to another one. How often that happens depends on
the allocator, so that a rule that keeps something by the id of an object that may be gone is wrong
in one run of a hundred. Here it happens always ("reused"): the next object of a kind gets the
number of the last one that died. Or never ("unique"). Sets of objects are gone through in another
order each way. The findings must be the same.
"""

import gc
import sys
import weakref

KINDS = ("unique", "reused")


class Identities:
    """Numbers of objects: while both live, two have different ones."""

    def __init__(self, reused):
        self._reused = reused
        self._count = 1 << 50
        self._free = {}  # by kind of object: numbers of those that are gone
        self._known = {}  # by true id: (weak reference, number)

    def __call__(self, thing):
        key = id(thing)
        held = self._known.get(key)
        if held is not None and held[0]() is thing:
            return held[1]
        kind = type(thing)
        base = kind.__mro__[max(len(kind.__mro__) - 2, 0)]  # all modules are of one kind
        free = self._free.setdefault(base, [])
        if free and self._reused:
            number = free.pop()
        else:
            self._count += 1
            number = self._count

        def gone(ref):
            if (now := self._known.get(key)) is not None and now[0] is ref:
                del self._known[key]
            free.append(number)

        try:
            self._known[key] = weakref.ref(thing, gone), number
        except TypeError:  # a list, a dict
            return key
        return number


def install(kind, *hashed):
    """Give the modules of the check such an `id`, and instances of classes such a hash."""
    assert kind in KINDS
    identities = Identities(kind == "reused")
    for name, module in list(sys.modules.items()):
        if name.partition("pellucid.check")[:2] == ("", "pellucid.check"):
            vars(module)["id"] = identities
    numbers = Identities(False)
    factor = 1 if kind == "unique" else -7919
    for each in hashed:
        each.__hash__ = lambda self: hash(numbers(self) % (1 << 40) * factor)
    if kind == "reused":
        gc.set_threshold(50, 2, 2)  # what is in a cycle goes early
    return identities
