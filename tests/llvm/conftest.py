"""Without a compiler these tests are skipped, as those of kernels are."""

from ..kernels.conftest import needs_compiler  # noqa: F401
