"""Loading batches: one pass over a data set of images in this process and with two workers, and
putting samples together.

One call is a pass; worker processes are kept from pass to pass.
`python benchmarks/loader.py --no-pin` lets the workers have cores of their own.
"""

from __future__ import annotations

import harness

suite = harness.Suite("loading batches")
IMAGES, SHAPE, BATCH = 2048, (3, 64, 64), 256


def images(lib, count=IMAGES):
    """Images that are computed when asked for, as a decoder would, and their classes."""
    dataset = lib.utils.data.Dataset

    class Images(dataset):
        def __init__(self):
            self.pixels = lib.rand(64, *SHAPE)

        def __len__(self):
            return count

        def __getitem__(self, i):
            return self.pixels[i % 64], i % 10

    return Images()


def passes(loader):
    """One pass, each batch read."""

    def work():
        for x, _ in loader:
            x.sum()

    return work


@suite.case("256x3x64x64 float32, this process", target=1.0)
def alone(lib):
    return passes(lib.utils.data.DataLoader(images(lib), batch_size=BATCH))


@suite.case("256x3x64x64 float32, two workers", target=1.0)
def two(lib):
    return passes(
        lib.utils.data.DataLoader(
            images(lib), batch_size=BATCH, num_workers=2, persistent_workers=True
        )
    )


@suite.case("256x3x64x64 float32, two workers started for each pass", target=1.0)
def fresh(lib):
    return passes(lib.utils.data.DataLoader(images(lib), batch_size=BATCH, num_workers=2))


@suite.case("tensor data set 6000x16, batch 128, shuffled, this process", target=1.0)
def tensors(lib):
    data = lib.utils.data.TensorDataset(lib.rand(6000, 16), lib.randint(0, 10, (6000,)))
    loader = lib.utils.data.DataLoader(data, batch_size=128, shuffle=True)

    def work():
        for _ in loader:
            pass

    return work


def samples(lib, kind):
    """128 samples of a kind."""
    if kind == "tensors 3x32x32":
        return [(lib.rand(3, 32, 32), 1) for _ in range(128)]
    if kind == "tensors of 16":
        return [(lib.rand(16), lib.tensor(1)) for _ in range(128)]
    if kind == "dicts":
        return [{"x": lib.rand(16), "y": 1, "w": 0.5, "name": "a"} for _ in range(128)]
    return [(0.5, 1) for _ in range(128)]


for _kind in ("tensors 3x32x32", "tensors of 16", "dicts", "numbers"):

    @suite.case(f"default_collate, 128 samples, {_kind}", target=1.0)
    def collate(lib, kind=_kind):
        batch, function = samples(lib, kind), lib.utils.data.default_collate
        return lambda: function(batch)


if __name__ == "__main__":
    suite.main()
