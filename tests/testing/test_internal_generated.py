"""Tests made of templates, as in PyTorch: their names, their arguments, and what is not there."""

import unittest

import pytest

import pellucid as torch
from pellucid.testing._internal import common_device_type, common_dtype, common_utils
from pellucid.testing._internal.common_utils import parametrize, subtest


def run(kind):
    log = kind.log = []
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(kind)
    result = unittest.TestResult()
    suite.run(result)
    assert not result.errors and not result.failures
    return sorted(log, key=str), sorted(reason for _, reason in result.skipped)


def made(templates):
    """The class of templates as a class of tests."""
    return type("Made", (common_utils.TestCase,), dict(templates))


def log(self, *given):
    self.log.append((self._testMethodName, *given))


def test_parametrized_tests_are_named_and_given_values_as_in_pytorch():
    kind = common_utils.instantiate_parametrized_tests(
        made(
            {
                "test_a": parametrize("x", [1, 2.5])(parametrize("y,z", [("b", None)])(log_xyz)),
                "test_b": parametrize(
                    "k", [subtest(1, name="first"), subtest(2, decorators=[unittest.skip("no")])]
                )(lambda self, k: log(self, k)),
                "test_c": parametrize("d", [torch.float32], name_fn=lambda d: "kind")(
                    lambda self, d: log(self, d)
                ),
            }
        )
    )
    assert run(kind) == (
        [
            ("test_a_x_1_y_b_z0", 1, "b", None),
            ("test_a_x_2_5_y_b_z0", 2.5, "b", None),
            ("test_b_first", 1),
            ("test_c_kind", torch.float32),
        ],
        ["no"],
    )


def log_xyz(self, x, y, z):
    log(self, x, y, z)


def test_tests_for_devices_and_dtypes():
    templates = made(
        {
            "test_a": lambda self, device: log(self, device, self.get_primary_device()),
            "test_b": common_device_type.dtypes(torch.float32, torch.int64)(
                lambda self, device, dtype: log(self, device, dtype)
            ),
            "test_c": parametrize("n", [1])(
                common_device_type.dtypes(*common_dtype.floating_types())(
                    lambda self, device, dtype, n: log(self, dtype, n)
                )
            ),
            "test_d": common_device_type.onlyCUDA(lambda self, device: log(self)),
            "test_e": common_device_type.skipCPUIf(True, "reason")(lambda self, device: log(self)),
        }
    )
    scope = {"Made": templates}
    common_device_type.instantiate_device_type_tests(templates, scope)
    assert list(scope) == ["MadeCPU"]
    assert run(scope["MadeCPU"]) == (
        [
            ("test_a_cpu", "cpu", "cpu"),
            ("test_b_cpu_float32", "cpu", torch.float32),
            ("test_b_cpu_int64", "cpu", torch.int64),
            ("test_c_n_1_cpu_float32", torch.float32, 1),
            ("test_c_n_1_cpu_float64", torch.float64, 1),
        ],
        ["Only runs on cuda", "reason"],
    )


def test_tests_for_operators():
    class Operator:
        formatted_name = "negative"

        def supported_dtypes(self, device_type):
            return {torch.float32, torch.float16}

    templates = made(
        {
            "test_a": common_device_type.ops([Operator()], allowed_dtypes=(torch.float32,))(
                lambda self, device, dtype, op: log(self, dtype, op.formatted_name)
            )
        }
    )
    scope = {}
    common_device_type.instantiate_device_type_tests(templates, scope, only_for="cpu")
    assert run(scope["MadeCPU"])[0] == [
        ("test_a_negative_cpu_float32", torch.float32, "negative"),
    ]


def test_each_test_draws_the_same_numbers():
    kind = made({f"test_{k}": lambda self: log(self, torch.rand(1).item()) for k in "ab"})
    (_, first), (_, second) = run(kind)[0]
    assert first == second == pytest.approx(0.0290, abs=1e-4)


def test_what_is_not_there_names_itself():
    from pellucid.testing._internal import common_methods_invocations

    with pytest.raises(NotImplementedError, match=r"common_methods_invocations\.op_db"):
        _ = common_methods_invocations.op_db
    with pytest.raises(AttributeError, match=r"common_utils\.getRocmVersion"):
        _ = common_utils.getRocmVersion


def test_assert_equal_of_containers_with_classes_and_dtypes():
    case = common_utils.TestCase()
    made = lambda kind: {"state": torch.ones(2, 2), "dtype": kind, "of": [len, "a", None]}
    case.assertEqual(made(torch.float32), made(torch.float32))
    with pytest.raises(AssertionError, match=r"torch.float32 != torch.float64"):
        case.assertEqual(made(torch.float32), made(torch.float64))
