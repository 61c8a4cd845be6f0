"""The log-probabilities of tokens under a model, computed without doing anything twice.

The rows of a step are read behind one copy of what they begin with, and the vocabulary, a fifth of a small model's
work, is only looked at where a token is asked for.
"""

from dataclasses import dataclass
from typing import Any

from practicum.errors import ConfigurationError
from practicum.stages._trl import libraries
from practicum.stages._trl.attention import check_attention
from practicum.stages._trl.models import Loaded
from practicum.stages._trl.packing import pack, shared_length, states

_SCALED = ("final_logit_softcapping", "logit_scale", "logits_scaling", "output_multiplier", "lm_head_multiplier")


@dataclass(frozen=True)
class Scores:
    """Of each token of each row, 0 where it was not asked for.

    Attributes:
        logprobs: natural-log probability, of shape (rows, tokens).
        entropy: of the distribution that it was drawn from, without gradient.
    """

    logprobs: Any
    entropy: Any


def check_model(loaded: Loaded) -> None:
    """See that the model computes attention and logits in the plain way.

    Raises:
        ConfigurationError: it does something else, which would be left out here.
    """
    check_attention(loaded)
    config = loaded.plain.config.get_text_config()
    scaled = [name for name in _SCALED if getattr(config, name, None) not in (None, 1.0)]
    if scaled:
        raise ConfigurationError(
            f"Models whose logits are scaled ({', '.join(scaled)}) cannot be trained here.",
            mend="Choose a model of the Llama, Qwen or SmolLM kind.",
        )


def score(loaded: Loaded, ids: Any, attention: Any, wanted: Any, *, temperature: float = 1.0) -> Scores:
    """Score the wanted tokens of rows that are padded on the right.

    Args:
        loaded: the model.
        ids: token ids, of shape (rows, tokens).
        attention: 1 where a token is, 0 where padding is.
        wanted: whether a token's probability is asked for; never a row's first.
        temperature: by which the logits are divided.
    """
    torch = libraries.torch()
    wanted = wanted.bool()
    blank = torch.zeros(ids.shape, dtype=torch.float32, device=ids.device) + _nothing(loaded)
    rows = wanted.any(1)  # a row of which nothing is asked is not read at all
    if not rows.any():
        return Scores(blank, torch.zeros_like(blank))
    drawn, spread = _wanted(loaded, ids[rows], attention[rows], wanted[rows], temperature)
    return Scores(blank.masked_scatter(wanted, drawn), torch.zeros_like(blank).masked_scatter(wanted, spread))


def _wanted(loaded: Loaded, ids: Any, attention: Any, wanted: Any, temperature: float) -> tuple[Any, Any]:
    """Log-probability and entropy of each wanted token, in the order of the rows."""
    torch = libraries.torch()
    packed = pack(ids, attention, shared_length(ids, attention, wanted))
    before = [packed.before(row, place) for row, place in wanted.nonzero().tolist()]
    with loaded.computing():
        logits = loaded.plain.get_output_embeddings()(states(loaded, packed)[before])
    log_all = torch.log_softmax(logits.float() / temperature, dim=-1)
    drawn = log_all.gather(-1, ids[wanted][:, None])[:, 0]
    with torch.no_grad():
        spread = -(log_all.exp() * log_all).sum(-1)
    return drawn, spread


def _nothing(loaded: Loaded) -> Any:
    """A zero that hangs on what is trained, so that a gradient of zeros can be taken where nothing is wanted."""
    learning = next((each for each in loaded.model.parameters() if each.requires_grad), None)
    return 0.0 if learning is None else learning.flatten()[:1].sum() * 0.0
