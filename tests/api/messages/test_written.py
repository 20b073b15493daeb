"""The user's program as it is written."""

import ast
import sys

from pellucid.api.messages.written import call_at, text_at, tree


def here():
    return sys._getframe(1)


def test_the_expression_at_an_instruction():
    seen = []

    def called(*args, **kwargs):
        caller = sys._getframe(1)
        seen.append((text_at(caller.f_code, caller.f_lasti), call_at(caller)))

    "ä", called(1,
           two="ü"), 3  # fmt: skip
    (text, call), *_ = seen
    assert ast.unparse(ast.parse(text)) == "called(1, two='ü')"
    assert [k.arg for k in call.keywords] == ["two"] and len(call.args) == 1


def test_what_is_not_at_hand_is_none():
    scope = {"here": here}
    exec(compile("frame = here()", "no such file", "exec"), scope)
    assert text_at(scope["frame"].f_code, scope["frame"].f_lasti) is None
    assert call_at(scope["frame"]) is None and call_at(None) is None
    assert tree("no such file").body == []


def test_a_file_that_has_grown_is_read_again(tmp_path):
    import linecache

    path = tmp_path / "script.py"
    path.write_text("a = 1\n")
    assert len(tree(str(path)).body) == 1 and tree(str(path)) is tree(str(path))
    path.write_text("a = 1\nb = 2\n")
    linecache.checkcache(str(path))
    assert len(tree(str(path)).body) == 2
    path.write_text("a = = 1\nb\nc\n")
    linecache.checkcache(str(path))
    assert tree(str(path)) is None
