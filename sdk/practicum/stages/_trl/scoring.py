"""The log-probabilities of tokens under a model, computed without doing anything twice.

The rows of a step mostly begin alike: the system message with the tools, and in a group the whole task. That common
beginning goes through the model once; the rows go on from its keys and values, through which the gradient flows back.
And the vocabulary, a fifth of a small model's work, is only looked at where a token is asked for.
"""

import inspect
from dataclasses import dataclass
from typing import Any

from practicum.errors import ConfigurationError
from practicum.stages._trl import libraries
from practicum.stages._trl.models import Loaded

_WORTH_SHARING = 16
"""Tokens in common below which a pass of their own costs more than it saves."""
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
    """See that the model computes its logits as a plain product.

    Raises:
        ConfigurationError: it does something else to them, which would be left out here.
    """
    config = loaded.plain.config.get_text_config()
    scaled = [name for name in _SCALED if getattr(config, name, None) not in (None, 1.0)]
    if scaled:
        raise ConfigurationError(
            f"Models whose logits are scaled ({', '.join(scaled)}) cannot be trained here.",
            mend="Choose a model of the Llama, Qwen, Mistral or SmolLM kind.",
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
    shared = shared_length(ids, attention, wanted)
    with loaded.computing():
        hidden = _hidden(loaded, ids, attention, shared)
        # The state at one place tells of the token at the next.
        chosen = wanted[:, shared + 1 :].bool()
        states = hidden[:, :-1][chosen]
        logits = loaded.plain.get_output_embeddings()(states)
    logits = logits.float() / temperature
    targets = ids[:, shared + 1 :][chosen]
    log_all = torch.log_softmax(logits, dim=-1)
    drawn = log_all.gather(-1, targets[:, None])[:, 0]
    with torch.no_grad():
        spread = -(log_all.exp() * log_all).sum(-1)
    # Without a wanted token the sum keeps the result tied to the model, so that a gradient of zeros can be taken.
    blank = torch.zeros(ids.shape, dtype=torch.float32, device=ids.device) + hidden.float().sum() * 0
    place = torch.zeros(ids.shape, dtype=torch.bool, device=ids.device)
    place[:, shared + 1 :] = chosen
    return Scores(blank.masked_scatter(place, drawn), torch.zeros_like(blank).masked_scatter(place, spread))


def shared_length(ids: Any, attention: Any, wanted: Any) -> int:
    """How many tokens the rows begin with alike, none of them wanted and one at least left after them."""
    if ids.shape[0] < 2:  # noqa: PLR2004  one row shares with nobody
        return 0
    alike = ((ids == ids[:1]) & attention.bool() & ~wanted.bool()).all(0)
    different = (~alike).nonzero()
    length = int(different[0]) if len(different) else int(ids.shape[1])
    # One common token stays with the rows: its state tells of the first that differs.
    length = min(length, int(attention.sum(1).min())) - 1
    return length if length >= _WORTH_SHARING else 0


def _hidden(loaded: Loaded, ids: Any, attention: Any, shared: int) -> Any:
    backbone = loaded.plain.base_model
    if not shared:
        return backbone(input_ids=ids, attention_mask=attention, use_cache=False).last_hidden_state
    cache = new_cache(loaded)
    backbone(input_ids=ids[:1, :shared], use_cache=True, **with_cache(loaded, cache))
    cache.batch_repeat_interleave(ids.shape[0])
    after = backbone(input_ids=ids[:, shared:], attention_mask=attention, use_cache=True, **with_cache(loaded, cache))
    return after.last_hidden_state


def new_cache(loaded: Loaded) -> Any:
    """An empty cache of keys and values."""
    return libraries.transformers().DynamicCache(config=loaded.plain.config)


def with_cache(loaded: Loaded, cache: Any) -> dict[str, Any]:
    """The cache as an argument of the model, whose name changed in the course of transformers 5."""
    forward: Any = loaded.plain.base_model.forward
    names = inspect.signature(forward).parameters
    return {"cache" if "cache" in names else "past_key_values": cache}
