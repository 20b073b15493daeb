"""Names and numbers of modules."""

import pellucid as torch
from pellucid.check.recording.names import Names


def test_a_number_is_not_used_again_when_its_module_is_gone():
    names = Names(lambda path: False)
    numbers, ids = set(), set()
    for _ in range(50):
        module = torch.nn.Linear(2, 2)
        assert names.number_of(module) == names.number_of(module)
        numbers.add(names.number_of(module))
        ids.add(id(module))
        del module
    assert len(numbers) == 50 > len(ids)  # the ids were reused
