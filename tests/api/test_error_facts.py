"""What an error knows of the user's source."""

from pellucid.api import error_facts

SOURCE = """\
x = 1
def outer():
    x = 2
    x = 3
    def inner(f=lambda: (x := 9)):
        x = 4
        return x
    y = inner()
    return x
x = 5
"""


def test_lines_that_assign_a_variable_belong_to_the_function_that_holds_them():
    found = {name: lines for name, _, _, lines in error_facts._assignments(SOURCE)}
    assert sorted(found["<module>"]["x"]) == [1, 10]
    assert sorted(found["outer"]["x"]) == [3, 4]
    assert found["outer"]["y"] == [8]
    assert found["inner"]["x"] == [6]


def test_a_source_is_read_once_for_all_variables():
    error_facts._assignments.cache_clear()
    error_facts._assignments(SOURCE)
    error_facts._assignments(SOURCE)
    assert error_facts._assignments.cache_info().misses == 1
    assert error_facts._assignments("no ( program") == []
