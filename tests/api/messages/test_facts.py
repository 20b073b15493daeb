"""What an error knows of the user's source."""

from pellucid.api.messages import facts

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
    found = {name: lines for name, _, _, lines in facts._assignments(SOURCE)}
    assert sorted(found["<module>"]["x"]) == [1, 10]
    assert sorted(found["outer"]["x"]) == [3, 4]
    assert found["outer"]["y"] == [8]
    assert found["inner"]["x"] == [6]


def test_a_source_is_read_once_for_all_variables():
    facts._assignments.cache_clear()
    facts._assignments(SOURCE)
    facts._assignments(SOURCE)
    assert facts._assignments.cache_info().misses == 1
    assert facts._assignments("no ( program") == []
