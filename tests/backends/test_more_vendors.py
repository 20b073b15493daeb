"""Vendor switches that scripts ask for before they know the machine."""

import pytest

import pellucid as torch


@pytest.mark.parametrize("name", ["nnpack", "cusparselt", "kleidiai"])
def test_libraries_that_are_not_there(name):
    assert getattr(torch.backends, name).is_available() is False


def test_einsum_has_its_planner():
    assert torch.backends.opt_einsum.is_available() and torch.backends.opt_einsum.enabled


def test_the_processor_has_a_word():
    assert torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "NO AVX", "SVE", "DEFAULT")


@pytest.mark.parametrize("kind", ["flash", "mem_efficient", "math", "cudnn"])
def test_attention_switches_are_kept(kind):
    switch, ask = (
        getattr(torch.backends.cuda, f"enable_{kind}_sdp"),
        getattr(torch.backends.cuda, f"{kind}_sdp_enabled"),
    )
    assert ask() is True
    switch(False)
    assert ask() is False
    switch(True)
