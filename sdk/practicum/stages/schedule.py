"""How the learning rate goes over a run. Pure."""

import math


def share_of_rate(step: int, steps: int, *, warmup: float, falling: bool, spent: float = 0.0) -> float:
    """How much of the highest learning rate is due in a step.

    It rises in a line over the warm-up, the first step already learning, and then stays or falls in a line to zero.

    Args:
        step: the step's number, from 0.
        steps: how many there are.
        warmup: share of the steps in which it rises.
        falling: whether it falls afterwards.
        spent: share of the time that is behind the run. Where less time than steps is left, time decides, so that a
            run which time will end before its last step ends as gently.
    """
    rising = math.ceil(steps * warmup)
    if step < rising:
        return (step + 1) / (rising + 1)
    if not falling:
        return 1.0
    done = max(step / steps, min(spent, 1.0))
    start = rising / steps
    return max(0.0, (1 - done) / (1 - start)) if start < 1 else 1.0
