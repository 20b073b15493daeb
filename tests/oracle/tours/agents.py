"""stable_baselines3: agents trained on gymnasium's own environments, evaluated, saved and loaded."""

import copy
import tempfile
import warnings

import gymnasium as gym
import numpy as np
import torch
from _parts import show, without_compiled_operators

without_compiled_operators()
warnings.simplefilter("ignore")
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3  # noqa: E402
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback, EvalCallback  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.evaluation import evaluate_policy  # noqa: E402
from stable_baselines3.common.monitor import Monitor  # noqa: E402
from stable_baselines3.common.noise import NormalActionNoise  # noqa: E402
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor  # noqa: E402
from stable_baselines3.common.vec_env import VecNormalize  # noqa: E402


class Count(BaseCallback):
    seen = 0

    def _on_step(self):
        self.seen += 1
        return True


def weights(model):
    return sum(p.detach().double().abs().sum() for p in model.policy.parameters())


with tempfile.TemporaryDirectory() as folder:
    counted = Count()
    model = PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", 2, seed=0),
        n_steps=32,
        batch_size=16,
        n_epochs=2,
        seed=0,
        device="cpu",
        target_kl=0.5,
    )
    model.learn(
        128,
        callback=[
            counted,
            CheckpointCallback(64, folder),
            EvalCallback(
                Monitor(gym.make("CartPole-v1")), n_eval_episodes=1, eval_freq=60, verbose=0
            ),
        ],
    )
    show("ppo", weights(model))
    print(counted.seen)
    model.save(f"{folder}/ppo")
    again = PPO.load(f"{folder}/ppo", device="cpu")
    seen = np.array([0.01, -0.02, 0.03, 0.04], np.float32)
    print(model.predict(seen, deterministic=True)[0] == again.predict(seen, deterministic=True)[0])
    print(evaluate_policy(model, Monitor(gym.make("CartPole-v1")), 2, warn=False)[1] >= 0)
    again.set_env(make_vec_env("CartPole-v1", 2, seed=0))
    again.learn(64)
    show("more", weights(again))
    policy = model.policy
    values, logs, entropy = policy.evaluate_actions(torch.zeros(3, 4), torch.tensor([0, 1, 0]))
    show("values", values)
    show("entropy", entropy)
    model.policy.save(f"{folder}/policy")
    show("policy", sum(p.abs().sum() for p in type(policy).load(f"{folder}/policy").parameters()))
env = VecNormalize(make_vec_env("Pendulum-v1", 1, seed=0))
model = A2C("MlpPolicy", env, seed=0, device="cpu", n_steps=8, use_sde=True)
model.learn(48)
show("a2c", weights(model))
noise = NormalActionNoise(np.zeros(1), 0.1 * np.ones(1))
small = {
    "learning_starts": 20,
    "batch_size": 16,
    "seed": 0,
    "device": "cpu",
    "policy_kwargs": {"net_arch": [16, 16]},
}
for kind, options in (
    (SAC, {}),
    (TD3, {"action_noise": noise}),
):
    model = kind("MlpPolicy", gym.make("Pendulum-v1"), **copy.deepcopy(small), **options)
    model.learn(60)
    show(kind.__name__, weights(model))
model = DQN(
    "MlpPolicy",
    gym.make("CartPole-v1"),
    target_update_interval=10,
    train_freq=2,
    **copy.deepcopy(small),
)
model.learn(80)
show("dqn", weights(model))


class Features(BaseFeaturesExtractor):
    def __init__(self, space):
        super().__init__(space, 6)
        self.net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU())

    def forward(self, x):
        return self.net(x)


class Pictures(gym.Env):
    observation_space = gym.spaces.Dict(
        {
            "image": gym.spaces.Box(0, 255, (3, 36, 36), np.uint8),
            "speed": gym.spaces.Box(-1, 1, (2,)),
        }
    )
    action_space = gym.spaces.MultiDiscrete([2, 3])

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return self.look(), {}

    def look(self):
        return {
            "image": self.np_random.integers(0, 255, (3, 36, 36), np.uint8),
            "speed": self.np_random.random(2, np.float32),
        }

    def step(self, action):
        return self.look(), float(action.sum()), bool(self.np_random.random() < 0.1), False, {}


model = PPO(
    "MlpPolicy",
    gym.make("CartPole-v1"),
    n_steps=16,
    batch_size=8,
    seed=0,
    device="cpu",
    policy_kwargs={"features_extractor_class": Features},
)
model.learn(32)
show("features", round(float(weights(model)), 2))
model = PPO(
    "MultiInputPolicy",
    Pictures(),
    n_steps=8,
    batch_size=8,
    n_epochs=2,
    seed=0,
    device="cpu",
    policy_kwargs={"net_arch": [16]},
)
model.learn(16)
show("pictures", round(float(weights(model)), 1))
