"""torchrl: a custom environment, transforms, collectors, replay, PPO, DQN and SAC
losses with their own modules.
"""

import logging
import warnings

import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
from tensordict import TensorDict  # noqa: E402
from tensordict.nn import NormalParamExtractor, TensorDictModule, TensorDictSequential  # noqa: E402
from torch import nn  # noqa: E402
from torchrl.collectors import Collector  # noqa: E402
from torchrl.data import (  # noqa: E402
    Bounded,
    Categorical,
    Composite,
    LazyTensorStorage,
    ReplayBuffer,
    TensorDictReplayBuffer,
    Unbounded,
)
from torchrl.data.replay_buffers.samplers import SamplerWithoutReplacement  # noqa: E402
from torchrl.envs import (  # noqa: E402
    Compose,
    DoubleToFloat,
    EnvBase,
    ObservationNorm,
    RewardSum,
    StepCounter,
    TransformedEnv,
    check_env_specs,
    set_exploration_type,
)
from torchrl.envs.utils import ExplorationType  # noqa: E402
from torchrl.modules import (  # noqa: E402
    MLP,
    EGreedyModule,
    ProbabilisticActor,
    QValueActor,
    TanhNormal,
    ValueOperator,
)
from torchrl.objectives import ClipPPOLoss, DQNLoss, SACLoss, SoftUpdate  # noqa: E402
from torchrl.objectives.value import GAE, TDLambdaEstimator  # noqa: E402


class Cart(EnvBase):
    """A point on a line that is to be brought to the middle."""

    def __init__(self, discrete=False):
        super().__init__(device="cpu", batch_size=[])
        self.discrete = int(discrete)
        self.observation_spec = Composite(observation=Unbounded((2,)), shape=())
        self.action_spec = Categorical(3) if discrete else Bounded(-1.0, 1.0, (1,))
        self.reward_spec = Unbounded((1,))

    def _reset(self, tensordict):
        self.state = torch.rand(2, generator=self.rng) - 0.5
        return TensorDict({"observation": self.state.clone()}, [])

    def _step(self, tensordict):
        push = tensordict["action"].float().sum() - self.discrete
        self.state = torch.stack([self.state[0] + 0.1 * self.state[1], self.state[1] + 0.1 * push])
        far = (self.state.abs() > 1).any()
        return TensorDict(
            {
                "observation": self.state.clone(),
                "reward": -self.state.square().sum().view(1),
                "done": far.view(1),
            },
            [],
        )

    def _set_seed(self, seed):
        self.rng = torch.Generator().manual_seed(seed)


def made(discrete=False):
    env = TransformedEnv(
        Cart(discrete),
        Compose(
            ObservationNorm(0.0, 2.0, in_keys=["observation"]),
            DoubleToFloat(),
            StepCounter(12),
            RewardSum(),
        ),
    )
    env.set_seed(0)
    return env


torch.manual_seed(0)
env = made()
check_env_specs(env)
env.set_seed(0)
roll = env.rollout(8)
print(roll.batch_size, sorted(map(str, roll.keys(True, True))))
show("reward", roll["next", "reward"])
actor = ProbabilisticActor(
    TensorDictModule(
        nn.Sequential(MLP(2, 2, num_cells=[16]), NormalParamExtractor()),
        ["observation"],
        ["loc", "scale"],
    ),
    in_keys=["loc", "scale"],
    spec=env.action_spec,
    distribution_class=TanhNormal,
    distribution_kwargs={"low": -1.0, "high": 1.0},
    return_log_prob=True,
)
critic = ValueOperator(MLP(2, 1, num_cells=[16]), in_keys=["observation"])
advantage = GAE(gamma=0.95, lmbda=0.9, value_network=critic, average_gae=True)
loss_module = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_bonus=True, entropy_coeff=1e-3)
optimizer = torch.optim.Adam(loss_module.parameters(), 1e-2)
collector = Collector(env, actor, frames_per_batch=32, total_frames=64)
buffer = ReplayBuffer(
    storage=LazyTensorStorage(32), sampler=SamplerWithoutReplacement(), batch_size=16
)
for batch in collector:
    for _ in range(2):
        advantage(batch)
        buffer.extend(batch.reshape(-1))
        for _ in range(2):
            losses = loss_module(buffer.sample())
            loss = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
            loss.backward()
            nn.utils.clip_grad_norm_(loss_module.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    show("ppo", loss)
    show("reward", batch["next", "reward"].mean())
collector.shutdown()
with set_exploration_type(ExplorationType.DETERMINISTIC), torch.no_grad():
    show("evaluated", env.rollout(10, actor)["next", "reward"])
show(
    "td",
    TDLambdaEstimator(gamma=0.9, lmbda=0.5, value_network=critic)(batch.clone())["value_target"],
)

env = made(True)
net = QValueActor(
    MLP(2, 3, num_cells=[16]), in_keys=["observation"], spec=Composite(action=env.action_spec)
)
explore = TensorDictSequential(
    net, EGreedyModule(env.action_spec, annealing_num_steps=20, eps_init=0.5)
)
memory = TensorDictReplayBuffer(storage=LazyTensorStorage(50), batch_size=8)
dqn = DQNLoss(net, action_space=env.action_spec, delay_value=True)
dqn.make_value_estimator(gamma=0.9)
target = SoftUpdate(dqn, eps=0.9)
optimizer = torch.optim.Adam(dqn.parameters(), 1e-2)
for _ in range(3):
    with torch.no_grad():
        memory.extend(env.rollout(12, explore))
    sample = memory.sample()
    out = dqn(sample)
    out["loss"].backward()
    optimizer.step()
    optimizer.zero_grad()
    target.step()
    show("dqn", out["loss"])
q = ValueOperator(MLP(3, 1, num_cells=[8]), in_keys=["observation", "action"])
sac = SACLoss(actor, q, num_qvalue_nets=2)
out = sac(roll.reshape(-1))
(out["loss_actor"] + out["loss_qvalue"] + out["loss_alpha"]).backward()
show("sac", out["loss_qvalue"])
show("alpha", out["alpha"])
