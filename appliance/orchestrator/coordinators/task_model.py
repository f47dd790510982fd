"""A linear model of tasks: what each feature of a message speaks for, learnt from labelled examples."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from appliance.orchestrator.coordinators.task_words import features

TaskType = Literal[
    "locate", "overview", "explain", "callers", "callees", "impact", "path", "history", "review", "test", "edit", "debug",
    "other",
]  # fmt: skip
Complexity = Literal["simple", "medium", "complex"]

TYPES: Final[tuple[TaskType, ...]] = get_args(TaskType)
COMPLEXITIES: Final[tuple[Complexity, ...]] = get_args(Complexity)
FILE: Final = "task_weights.bin"  # int8: a row for each bucket, and one for what holds before a word is read
STEP: Final = 1 / 12  # of a weight

Numbers = npt.NDArray[np.float64]


def likelihoods(message: str) -> tuple[Mapping[TaskType, float], Mapping[Complexity, float]]:
    """Return how likely each type of task and each complexity is, by the words of *message*."""
    found, weights = features(message), _weights()
    rows = weights[[*found, -1]].astype(np.float64) * STEP
    scores = np.array([*found.values(), 1.0]) @ rows
    types, complexities = (_shares(part) for part in np.split(scores, [len(TYPES)]))
    return dict(zip(TYPES, types, strict=True)), dict(zip(COMPLEXITIES, complexities, strict=True))


def _shares(scores: Numbers) -> list[float]:
    likely = np.exp(scores - scores.max())
    shares: list[float] = (likely / likely.sum()).tolist()
    return shares


@cache
def _weights() -> npt.NDArray[np.int8]:
    return np.frombuffer(files(__package__).joinpath(FILE).read_bytes(), dtype=np.int8).reshape(
        -1, len(TYPES) + len(COMPLEXITIES)
    )
