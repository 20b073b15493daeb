"""A second kind of array, as another device would have it: no NumPy array, no implicit conversion,
no mixing with the host's arrays.

`StrictArray` keeps its values to itself. NumPy refuses it, it refuses NumPy's arrays, and values
leave it only through `to_host`, which counts. `namespace` is its array namespace: the functions of
`pellucid.arrays.numpy_cpu` on such arrays. What runs with both was written against the array
namespace alone, and would run on a device.
"""

import numbers
import types

import numpy as np

import pellucid
from pellucid.arrays import numpy_cpu

transfers = {"to_host": 0, "from_host": 0, "decisions": 0}


class Mixed(TypeError):
    """Arrays of two kinds met, or one was converted behind everybody's back."""


class StrictArray:
    """An array of a device that is not the host."""

    __slots__ = ("_held",)
    __hash__ = None

    def __init__(self, held):
        self._held = held

    def __array__(self, *args, **kwargs):
        raise Mixed("a strict array is not converted implicitly")

    def __array_ufunc__(self, ufunc, method, *args, **kwargs):
        raise Mixed(f"numpy.{ufunc.__name__} was called with a strict array")

    def __array_function__(self, function, *args, **kwargs):
        raise Mixed(f"numpy.{function.__name__} was called with a strict array")

    # ---- what is known without its values
    dtype = property(lambda self: self._held.dtype)
    shape = property(lambda self: self._held.shape)
    strides = property(lambda self: self._held.strides)
    ndim = property(lambda self: self._held.ndim)
    size = property(lambda self: self._held.size)
    itemsize = property(lambda self: self._held.itemsize)
    nbytes = property(lambda self: self._held.nbytes)
    flags = property(lambda self: self._held.flags)
    T = property(lambda self: StrictArray(self._held.T))
    mT = property(lambda self: StrictArray(self._held.mT))
    real = property(lambda self: StrictArray(self._held.real))
    imag = property(lambda self: StrictArray(self._held.imag))
    device = pellucid.device("privateuseone", 0)
    xp = property(lambda self: namespace)
    base = property(lambda self: None if self._held.base is None else StrictArray(self._held.base))

    def __len__(self):
        return len(self._held)

    def _no_value(self, *_):
        raise Mixed("a value of a strict array was read without `to_host`")

    def __bool__(self):
        """The one value that every device hands out: a decision, which waits for it."""
        transfers["decisions"] += 1
        return bool(self._held)

    __int__ = __float__ = __complex__ = __index__ = item = tolist = __iter__ = tobytes = ctypes = (
        _no_value
    )

    def __getitem__(self, index):
        return wrapped(self._held[inside(index)])

    def __setitem__(self, index, value):
        self._held[inside(index)] = inside(value)

    def diagonal(self, *args, **kwargs):
        """A view that can be written; NumPy's own cannot."""
        made = self._held.diagonal(*args, **kwargs)
        made.flags.writeable = True
        return StrictArray(made)

    def __repr__(self):
        return f"StrictArray({self.shape}, {self.dtype})"


def _operator(name):
    def apply(self, *others):
        if not all(isinstance(o, (StrictArray, numbers.Number, np.generic)) for o in others):
            raise Mixed(f"{name} of a strict array and {type(others[0]).__name__}")
        return wrapped(getattr(self._held, name)(*map(inside, others)))

    apply.__name__ = name
    return apply


_BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
for _name in [
    *(f"__{p}{n}__" for n in _BINARY for p in ("", "r")),
    *(f"__{n}__" for n in "eq ne lt le gt ge neg pos abs invert divmod".split()),
]:
    setattr(StrictArray, _name, _operator(_name))


def _writes(name):
    def apply(self, other):
        if not isinstance(other, (StrictArray, numbers.Number, np.generic)):
            raise Mixed(f"{name} of a strict array and {type(other).__name__}")
        getattr(self._held, name)(inside(other))
        return self

    return apply


for _name in _BINARY:
    setattr(StrictArray, f"__i{_name}__", _writes(f"__i{_name}__"))


def _method(name):
    def apply(self, *args, **kwargs):
        return wrapped(getattr(self._held, name)(*inside(args), **inside(kwargs)))

    apply.__name__ = name
    return apply


for _name in (
    "all any argmax argmin argsort astype clip conj copy cumprod cumsum fill flatten max mean min nonzero prod ravel "
    "repeat reshape round sort squeeze std sum swapaxes take transpose var view searchsorted argpartition partition choose"
).split():
    setattr(StrictArray, _name, _method(_name))


def inside(value):
    """The host's arrays of strict ones, in tuples, lists, dictionaries and slices too; the host's
    own arrays are refused.
    """
    if isinstance(value, StrictArray):
        return value._held
    if isinstance(value, np.ndarray):
        raise Mixed("an array of the host was given to a function of strict arrays")
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(inside, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(inside, value))
    if isinstance(value, dict):
        return {k: inside(v) for k, v in value.items()}
    return value


def wrapped(value):
    """Strict arrays for the host's."""
    if isinstance(value, np.ndarray):
        return StrictArray(value)
    if isinstance(value, np.generic):
        return StrictArray(np.asarray(value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(wrapped, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(wrapped, value))
    return value


def from_host(value):
    """A strict array with the values of one of the host; everything else as it is."""
    if isinstance(value, (np.ndarray, np.generic)):
        transfers["from_host"] += 1
        return StrictArray(np.array(value))
    return type(value)(map(from_host, value)) if isinstance(value, (tuple, list)) else value


def to_host(value):
    """The host's array with the values of a strict one; in tuples and lists too."""
    if isinstance(value, StrictArray):
        transfers["to_host"] += 1
        return value._held.copy()
    if isinstance(value, (tuple, list)):
        return type(value)(map(to_host, value))
    return value


class Namespace:
    """The array namespace of strict arrays: `numpy_cpu` or a part of it (`fft`, a function with
    `reduce` and `accumulate`).
    """

    def __init__(self, part=numpy_cpu):
        self._part = part

    to_host, from_host = staticmethod(to_host), staticmethod(from_host)

    def __call__(self, *args, **kwargs):
        return wrapped(self._part(*inside(args), **inside(kwargs)))

    def __getattr__(self, name):
        found = getattr(self._part, name)
        if not isinstance(found, types.ModuleType) and (
            not callable(found) or isinstance(found, type)
        ):
            return found
        made = Namespace(found)
        setattr(self, name, made)
        return made


namespace = Namespace()
namespace.diagonal = lambda x, *args, **kwargs: x.diagonal(*args, **kwargs)
