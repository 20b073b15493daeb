import pytest

from pellucid.llvm import target, threads


@pytest.fixture(autouse=True)
def needs_compiler():
    if not target.available():
        pytest.skip("kernels need llvmlite and a processor with vectors")


@pytest.fixture(params=[1, 2])
def thread_count(request):
    before = threads.get_num_threads()
    threads.set_num_threads(request.param)
    yield request.param
    threads.set_num_threads(before)
