"""The random generator: PyTorch's CPU random numbers, drawn with NumPy's MT19937.

A generator holds one Mersenne Twister (Matsumoto and Nishimura, 1998), seeded with
`init_genrand(seed mod 2**32)`. Every random number of the library is computed from its 32-bit
words, in the same order as in PyTorch, so that a seed gives the same numbers in both. The state
consists of these words and at most one normal number: a normal draw of fewer than 16 values makes
pairs, and keeps an odd one for the next draw.

A 64-bit draw is two words, the high one first. The functions in `fill.py` and `reject.py` describe
how each distribution uses the words; `docs/random-streams.md` lists which results equal PyTorch's
bit for bit.
"""

from __future__ import annotations

import functools
import secrets
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import config
from ...arrays.native import native_code_runs
from ...errors import type_name
from .. import tracing

DEFAULT_SEED = 67280421310721
STATE_BYTES = 5056
_KEY_WORDS = 624
_BULK = 2048  # from here on, NumPy's bounded integers (32 bits each) beat random_raw (64 bits each)

# PyTorch's saved generator: a 64-bit word per word of the key, then the cached normals, padded as C
# pads them.
_STATE = np.dtype(
    {
        "names": [
            "seed",
            "left",
            "seeded",
            "next",
            "key",
            "normal",
            "has_normal",
            "float_normal",
            "has_float_normal",
        ],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", _KEY_WORDS), "<f8", "<i4", "<f4", "u1"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": STATE_BYTES,
    }
)


# the number of small draws after which loading the compiler pays off, counted down
_waiting = [20_000]
_twister: Any = None  # the native library, once loaded; False if it cannot be used


def native(name: str, count: int, worth: int = 1) -> Any:
    """A function of `kernels.random.twister`, or of `kernels.random.fills` if `name` names a type.
    None if there is none. A draw of few numbers counts as `worth` small draws towards loading the
    library.
    """
    global _twister
    if _twister:
        return _found(name) if config.kernels else None
    if _twister is None:
        if not config.kernels:
            return None
        # small draws wait until the compiler is loaded anyway, or until there have been enough of
        # them
        if count < _BULK:
            _waiting[0] -= worth
            if _waiting[0] > 0 and not native_code_runs():
                return None
        from ...kernels.random.twister import library

        # NumPy documents the address of the state, but not its layout. So check that the native
        # code gives the same words.
        probe, out = np.random.MT19937(1), np.empty(1300, np.uint32)
        words = np.random.MT19937(1).random_raw(1300)
        if library.words is not None:
            library.words(probe.ctypes.state_address, out, 1300)
        same = library.words is not None and np.array_equal(out, words)
        _twister = library if same else False
    return _found(name) if _twister and config.kernels else None


@functools.cache
def _found(name: str) -> Any:
    if "." not in name:
        return getattr(_twister, name)
    from ...kernels.random.fills import library

    return getattr(library, name, None)


def serial(name: str, count: int) -> Any:
    """A function of `kernels.random.draws`, or None. It waits for the compiler as `native` does;
    each number counts as one small draw.
    """
    run = _draws.get(name)
    if run is None or not config.kernels:
        _waiting[0] -= count
        if not native("words", 1):
            return None
        from ...kernels.random.draws import draws

        run = _draws[name] = getattr(draws(), name, None)
    return run


_draws: dict[str, Any] = {}


# Called before random numbers are drawn; `vmap` puts its guard here while it runs.
draw_guards: list[Callable[[], None]] = []


class Generator:
    """A stream of random numbers with PyTorch's seeds, states and values.

    Raises RuntimeError for a device other than the CPU. Safe to share between threads: each fill
    takes `lock`.

    >>> Generator().manual_seed(0).initial_seed()
    0
    """

    __slots__ = (
        "__weakref__",
        "_bits",
        "_bulk",
        "_float_normal",
        "_kept",
        "_raw",
        "_seed",
        "_seeder",
        "_state",
        "device",
        "_lock",
        "normal",
    )

    def __init__(self, device: Any = "cpu") -> None:
        kind = str(device).partition(":")[0]
        if kind != "cpu":
            raise RuntimeError(
                f"Device type {kind.upper()} is not supported for torch.Generator() api."
            )
        self.device = device
        self._lock = threading.RLock()
        self._bits = np.random.MT19937(0)
        self._raw = self._bits.random_raw
        self._state = self._bits.ctypes.state_address
        self._bulk = np.random.Generator(self._bits).integers
        self._kept = np.zeros(2)  # for native code: whether there is a kept `normal`, and its value
        self._seeder = np.random.RandomState(self._bits).seed
        self._reseed(DEFAULT_SEED)

    @property
    def lock(self) -> threading.RLock:
        """The lock to hold while drawing. The functions in `draw_guards` run first."""
        if draw_guards:
            for guard in draw_guards:
                guard()
        return self._lock

    def _reseed(self, seed: int) -> None:
        with self._lock:
            self._seeder(seed & 0xFFFFFFFF)
            self._seed = seed
            self.normal: float | None = None
            self._float_normal: float | None = None

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream anew from `seed`, an integer in [-2**63, 2**64); returns the generator.

        Raises RuntimeError for another type and ValueError for a number out of range.

        >>> Generator().manual_seed(-1).initial_seed() == 2**64 - 1
        True
        """
        if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type_name(seed)}")
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        tracing.seen(None, "the step seeds a random stream")
        self._reseed(seed % 2**64)
        return self

    def seed(self) -> int:
        """Start the stream anew from a seed of the operating system's entropy, and return that
        seed.
        """
        tracing.seen(None, "the step seeds a random stream")
        seed = secrets.randbits(53)
        self._reseed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed of the last `manual_seed` or `seed`, in [0, 2**64)."""
        return self._seed

    def get_state(self) -> np.ndarray:
        """The state as 5056 bytes (uint8) in PyTorch's layout, for `set_state` here or there."""
        tracing.seen(None, "the step reads the state of a random stream")
        return self.snapshot()

    def snapshot(self) -> np.ndarray:
        """As `get_state`, for the library's own use: the program does not depend on this state
        unless it is set again.
        """
        with self._lock:
            record = np.zeros((), _STATE)
            state: Any = self._bits.state["state"]
            position = int(state["pos"])
            # PyTorch writes a stream that is seeded but not drawn from with next = 0, an exhausted
            # block with 624.
            key = state["key"].tobytes()
            fresh = position == _KEY_WORDS and key == _seeded_key(self._seed).tobytes()
            record["seed"] = self._seed
            record["left"] = _KEY_WORDS + 1 - position
            record["seeded"] = 1
            record["next"] = 0 if fresh else position
            record["key"] = state["key"]
            if self.normal is not None:
                record["normal"], record["has_normal"] = self.normal, 1
            if self._float_normal is not None:
                record["float_normal"], record["has_float_normal"] = self._float_normal, 1
            return np.frombuffer(record.tobytes(), np.uint8).copy()

    def set_state(self, new_state: np.ndarray) -> None:
        """Continue from a state of `get_state` (5056 bytes), of this library or of PyTorch's CPU
        generator.

        Raises TypeError for another dtype, RuntimeError for another size or an impossible state.

        >>> a, b = Generator(), Generator()
        >>> _ = a.words(5)
        >>> b.set_state(a.get_state())
        >>> bool((a.words(3) == b.words(3)).all())
        True
        """
        tracing.seen(None, "the step sets the state of a random stream")
        array = np.asarray(new_state)
        if array.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if array.size != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be {array.size}"
            )
        record = np.frombuffer(np.ascontiguousarray(array).tobytes(), _STATE)[0]
        left, following = int(record["left"]), int(record["next"])
        fresh = left == 1 and following == 0
        if (
            not record["seeded"]
            or not 0 < left <= _KEY_WORDS
            or not (fresh or following + left == _KEY_WORDS + 1)
        ):
            raise RuntimeError("Invalid mt19937 state")
        with self._lock:
            position = _KEY_WORDS if fresh else following
            self._set_words({"key": record["key"].astype(np.uint32), "pos": position})
            self._seed = int(record["seed"])
            self.normal = float(record["normal"]) if record["has_normal"] else None
            self._float_normal = (
                float(record["float_normal"]) if record["has_float_normal"] else None
            )

    def clone_state(self) -> Generator:
        """A new generator that continues from this one's state on its own."""
        clone = Generator(self.device)
        clone.set_state(self.get_state())
        return clone

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.device, self.get_state())

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"

    # What the fills draw from. Hold `lock` around a whole fill.

    def words(self, count: int) -> np.ndarray:
        """The next `count` 32-bit words, as uint32; as uint64 when few, before native code is
        loaded.
        """
        drawn = self.native("words", count, np.uint32)
        if drawn is not None:
            return drawn
        return (
            self._raw(count) if count < _BULK else self._bulk(0, 0xFFFFFFFF, count, np.uint32, True)
        )

    def native(
        self, name: str, count: int, dtype: Any, *more: float, shape: Any = None
    ) -> np.ndarray | None:
        """`count` numbers from a function of `kernels.random.twister`; None if that is not loaded.
        Only large draws are worth loading it.
        """
        run = native(name, count)
        if run is None:
            return None
        out = np.empty(count if shape is None else shape, dtype)
        run(self._state, out, count, *more)
        return out

    def serial(self, name: str, count: int, *arrays: np.ndarray) -> np.ndarray | None:
        """`count` float64 numbers that a function of `kernels.random.draws` draws one after the
        other; None if that is not loaded.
        """
        run = serial(name, count)
        if run is None:
            return None
        kept = self._kept
        kept[0] = self.normal is not None
        kept[1] = self.normal or 0.0
        out = np.empty(count)
        run(self._state, kept, *arrays, out, count)
        self.normal = kept.item(1) if kept.item(0) else None
        return out

    @property
    def stream(self) -> int | None:
        """The address of the state, for native code that draws from it while holding `lock`. None
        if native code cannot.
        """
        return self._state if native("words", _BULK) is not None else None

    def wide_words(self, count: int) -> np.ndarray:
        """The next `count` 64-bit draws (uint64): two words each, the first one high."""
        words = self.words(2 * count)
        if words.dtype == np.uint64:
            return (words[::2] << np.uint64(32)) | words[1::2]
        wide = words[::2].astype(np.uint64)
        wide <<= np.uint64(32)
        wide |= words[1::2]
        return wide

    def uniform53(self, count: int) -> np.ndarray:
        """The next `count` float64 uniforms in [0, 1): the low 53 bits of a 64-bit draw."""
        made = self.native("uniform53", count, np.float64)
        if made is not None:
            return made
        wide = self.wide_words(count)
        wide &= np.uint64((1 << 53) - 1)
        return wide.view(np.int64) * 2.0**-53

    def mark(self) -> Any:
        """The position in the stream, for `rewind`."""
        return self._bits.state["state"]

    def rewind(self, mark: Any, words: int) -> None:
        """Set the position to `words` words after `mark`."""
        self._set_words(mark)
        if words:
            self._raw(words, output=False)

    def _set_words(self, state: Any) -> None:
        self._bits.state = {"bit_generator": "MT19937", "state": state}


def _seeded_key(seed: int) -> np.ndarray:
    state: Any = np.random.RandomState(seed & 0xFFFFFFFF).get_state(legacy=True)
    key: np.ndarray = state[1]
    return key


def _restore(device: Any, state: np.ndarray) -> Generator:
    generator = Generator(device)
    generator.set_state(state)
    return generator


default_generator = Generator()
"""The generator of every draw that is given none; seeded at start from the operating system's entropy, as PyTorch's."""
default_generator.seed()


def manual_seed(seed: Any) -> Generator:
    """Seed the default generator with `int(seed)` and return it.

    Raises ValueError for a number outside [-2**63, 2**64).

    >>> manual_seed(7).initial_seed()
    7
    """
    return default_generator.manual_seed(int(seed))


def initial_seed() -> int:
    """The default generator's seed."""
    return default_generator.initial_seed()


def seed() -> int:
    """Seed the default generator from the operating system's entropy, and return the seed."""
    return default_generator.seed()
