"""`Module.compile()`: the module itself is compiled, not a wrapper around it."""

import copy
import pickle
import warnings

import pellucid as torch


def test_results_gradients_and_training_are_those_of_the_eager_module():
    torch.manual_seed(0)
    eager = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    compiled = copy.deepcopy(eager)
    assert compiled.compile() is None
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (eager, compiled)]
    x, y = torch.randn(8, 3), torch.randn(8, 2)
    for _ in range(5):
        losses = []
        for module, optimizer in zip((eager, compiled), optimizers, strict=True):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(module(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss)
        torch.testing.assert_close(losses[1], losses[0])
    assert list(compiled.state_dict()) == list(eager.state_dict())


def test_it_runs_what_was_traced():
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())
    eager = copy.deepcopy(module)
    module.compile(fullgraph=True, dynamic=False)
    x = torch.randn(5, 3)
    results = [module(x) for _ in range(4)]
    assert len(module._compiled_call_impl.versions) == 1
    for result in results:
        torch.testing.assert_close(result, eager(x))


def test_hooks_and_copies():
    layer = torch.nn.Linear(2, 2)
    layer.compile()
    seen = []
    handle = layer.register_forward_hook(lambda module, args, output: seen.append(output.shape))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer(torch.ones(3, 2))
    assert seen[0] == (3, 2)
    handle.remove()
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert other._compiled_call_impl is None and torch.equal(
            other(torch.ones(1, 2)), layer(torch.ones(1, 2))
        )
