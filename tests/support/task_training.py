"""Makes the weights of the task analyzer of its labelled examples: ``python -m tests.support.task_training``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import optimize, sparse

from appliance.orchestrator.coordinators import task_model
from appliance.orchestrator.coordinators.task_model import COMPLEXITIES, STEP, TYPES, Numbers
from appliance.orchestrator.coordinators.task_words import BUCKETS, FORMS, features

EXAMPLES = Path(__file__).with_name("task_examples.tsv")
LEAST = 2  # messages that a bucket must be in
FREE_TYPES, FREE_COMPLEXITIES = 100.0, 3.0  # how little weights are held back; chosen by cross-validation over lists
ROUNDS = 40


@dataclass(frozen=True, slots=True)
class Example:
    """A message as a developer wrote it, and what it asks for."""

    task_type: str
    complexity: str
    message: str


def read(table: Path) -> tuple[Example, ...]:
    r"""Return the examples of *table*: type, complexity and message, parted by tabs; ``\n`` in a message ends a line."""
    lines = table.read_text(encoding="utf-8").splitlines()
    return tuple(Example(*line.replace("\\n", "\n").split("\t")) for line in lines)


def trained(seen: Sequence[Example]) -> bytes:
    """Return the weights that tell the tasks of *seen* apart best, as the appliance reads them."""
    counts = _matrix(seen)
    types = _fitted(counts, np.array([TYPES.index(each.task_type) for each in seen]), free=FREE_TYPES, form=0.0)
    sizes = _fitted(
        counts, np.array([COMPLEXITIES.index(each.complexity) for each in seen]), free=FREE_COMPLEXITIES, form=1.0
    )
    return np.clip(np.rint(np.hstack([types, sizes]) / STEP), -127, 127).astype(np.int8).tobytes()


def _matrix(seen: Sequence[Example]) -> sparse.csr_array:
    found = [features(each.message) for each in seen]
    ends = np.cumsum([0, *map(len, found)])
    return sparse.csr_array(
        (
            np.fromiter((share for each in found for share in each.values()), float),
            np.fromiter((bucket for each in found for bucket in each), int),
            ends,
        ),
        shape=(len(seen), BUCKETS + FORMS),
    )


def _fitted(counts: sparse.csr_array, labels: Numbers, *, free: float, form: float) -> Numbers:
    """Return the weights of multinomial logistic regression, and last what holds for any message.

    A bucket's weights are held back the less the rarer it is: a word that many messages share says little.
    """
    having = np.bincount(counts.indices, minlength=BUCKETS + FORMS)
    rarity = np.where(having >= LEAST, np.log((counts.shape[0] + 1) / (having + 1)) / 5, 0.0)
    rarity[BUCKETS:] = form
    scaled = sparse.csr_array(counts @ sparse.diags_array(rarity))
    back = sparse.csr_array(scaled.T)
    wanted = np.eye(int(labels.max()) + 1)[labels]
    shape = (BUCKETS + FORMS + 1, wanted.shape[1])

    def loss(flat: Numbers) -> tuple[float, Numbers]:
        weights = flat.reshape(shape)
        scores = scaled @ weights[:-1] + weights[-1]
        scores -= scores.max(axis=1, keepdims=True)
        total = np.log(np.exp(scores).sum(axis=1, keepdims=True))
        wrong = np.exp(scores - total) - wanted
        slope = np.vstack([back @ wrong + weights[:-1] / free, wrong.sum(axis=0)])
        return float(
            (total[:, 0] - (scores * wanted).sum(axis=1)).sum() + (weights[:-1] ** 2).sum() / free / 2
        ), slope.ravel()

    best = optimize.minimize(loss, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": ROUNDS})
    weights: Numbers = best.x.reshape(shape)
    weights[:-1] *= rarity[:, None]
    return weights


if __name__ == "__main__":
    Path(task_model.__file__).with_name(task_model.FILE).write_bytes(trained(read(EXAMPLES)))
