"""What a distribution lacks raises without words, as libraries that fall back to something else
expect; the note names it.
"""

import pytest

from pellucid.distributions import Distribution


@pytest.mark.parametrize("name", ["rsample", "entropy", "enumerate_support"])
def test_what_a_distribution_lacks_is_named_in_a_note(name):
    with pytest.raises(NotImplementedError) as caught:
        getattr(Distribution(validate_args=False), name)()
    assert (
        str(caught.value) == ""
        and f"Distribution does not implement {name}" in caught.value.__notes__
    )
