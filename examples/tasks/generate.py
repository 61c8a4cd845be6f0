"""Makes the tasks of the suite `orders`: the same tasks, byte for byte, for the same seed."""

import random
import tomllib
from dataclasses import dataclass
from pathlib import Path

from examples.systems.company import Company
from examples.systems.vocabulary import HELD_OUT, TRAIN
from examples.tasks.families import FAMILIES
from examples.tasks.sketch import Brief, Sketch
from practicum.contracts.tasks import Split, Task
from practicum.tasks import states_of


@dataclass(frozen=True)
class _Pin:
    order: int | None = None
    service: str | None = None


NAME = "orders"
TOOLS = ("crm.*", "erp.*", "cicd.*")
"""Every task offers the tools of all three systems: which to use is part of the task."""

_WORDS = {Split.TRAIN: TRAIN, Split.HELD_OUT: HELD_OUT}
_TRIES = 200
_SHOWN: dict[tuple[Split, str, int], _Pin] = {
    (Split.HELD_OUT, "broken_order", 0): _Pin(order=1042),
    (Split.HELD_OUT, "release_if_green", 0): _Pin(service="billing"),
}
"""What the tasks that people know from the README are about."""


def wordings() -> dict[str, dict[Split, tuple[str, ...]]]:
    """How each family can be asked, by split."""
    text = Path(__file__).with_name("wordings.toml").read_text(encoding="utf-8")
    return {
        family: {split: tuple(ways[split.value]) for split in Split} for family, ways in tomllib.loads(text).items()
    }


def generate(split: Split, count: int = 200, seed: int = 1) -> tuple[Task, ...]:
    """The tasks of one split, families in turn and wordings in turn.

    Args:
        split: which side of the line; the two share no entity and no wording.
        count: how many tasks; the first ones are the same whatever the count.
        seed: another seed draws other tasks from the same words.

    Returns:
        The tasks, no two with the same prompt.

    Raises:
        ValueError: the vocabulary does not hold so many different tasks.
    """
    drafts = {family: _Drafts(split, family, ways, seed) for family, ways in wordings().items() if family in FAMILIES}
    families = tuple(FAMILIES)
    return tuple(drafts[families[number % len(families)]].task(number // len(families)) for number in range(count))


class _Drafts:
    """Makes the tasks of one family and split, in order."""

    def __init__(self, split: Split, family: str, ways: dict[Split, tuple[str, ...]], seed: int) -> None:
        self._split = split
        self._family = family
        self._ways = ways[split]
        self._first = 0 if split is Split.TRAIN else len(ways[Split.TRAIN])
        self._seed = f"{seed}/{split}/{family}"
        self._prompts: set[str] = set()

    def task(self, turn: int) -> Task:
        """The task of this turn; call it for each turn in order."""
        way = self._way(turn)
        pin = _SHOWN.get((self._split, self._family, turn), _Pin())
        for attempt in range(_TRIES):
            draw = random.Random(f"{self._seed}/{turn}/{attempt}")
            company = Company(draw, _WORDS[self._split])
            sketch = FAMILIES[self._family](Brief(company, turn, pin.order, pin.service))
            prompt = self._ways[way].format(**sketch.words)
            if prompt not in self._prompts:
                self._prompts.add(prompt)
                return self._finished(turn, self._first + way, prompt, sketch)
        raise ValueError(f"the vocabulary holds no more than {turn} different tasks of {self._family}")

    def _way(self, turn: int) -> int:
        """Which wording: all of them in order first, then all of them in another order, and so on."""
        order, place = list(range(len(self._ways))), turn % len(self._ways)
        round_number = turn // len(self._ways)
        if round_number:
            random.Random(f"{self._seed}/wordings/{round_number}").shuffle(order)
        return order[place]

    def _finished(self, turn: int, wording: int, prompt: str, sketch: Sketch) -> Task:
        return Task(
            id=f"{NAME}.{self._split}.{self._family}.{turn}",
            suite=NAME,
            split=self._split,
            family=self._family,
            prompt=prompt,
            tools=TOOLS,
            start=states_of(sketch.start),
            reference=sketch.calls,
            conclusion=sketch.conclusion,
            expected=sketch.expected,
            answer=sketch.answer,
            wording=wording,
            entities=sketch.entities,
        )
