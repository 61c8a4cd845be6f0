"""The card of a dataset: what a person wants to know before training on it."""

from collections.abc import Iterator, Mapping

from practicum.trajectories import Form, Manifest
from practicum.trajectories.writer import reasons_of, tally

CARD = "README.md"

_ROWS = {
    Form.TOKENS: "`input_ids`, `labels` (-100 where the token was given and not drawn by the model), `logprobs`, "
    "`episode`, `step`, `reward`; token ids as they were sampled, nothing is tokenised anew",
    Form.MESSAGES: "`messages` as OpenAI's API has them (arguments of calls are JSON text), `tools` as JSON text, "
    "`episode`",
    Form.TASKS: "`prompt` (the messages before the model's first turn), `tools` as JSON text, `task`, `suite`, "
    "`split`, `family`, `episode`; one row for each task, to be rolled out anew",
}


def card_of(manifest: Manifest) -> str:
    """The card as Markdown, with the head by which `datasets.load_dataset` finds the rows."""
    return "\n".join(
        (*_head(manifest), *_rows(manifest), *_composition(manifest), *_left_out(manifest), *_origin(manifest))
    )


def _head(manifest: Manifest) -> Iterator[str]:
    file = manifest.files[0]
    yield "---"
    yield "configs:"
    yield "- config_name: default"
    yield f"  data_files: {file.name}"
    yield "---"
    yield ""
    yield f"# {manifest.name}"
    yield ""
    where = manifest.query.get("where") or "all episodes"
    yield f"{file.rows} rows of {len(file.episodes)} episodes, for `{manifest.query.get('format')}`."
    yield f"Chosen with `{where}` on {manifest.created:%Y-%m-%d %H:%M} UTC."
    if manifest.query.get("held_out"):
        yield ""
        yield "**Episodes of the held-out split were allowed: a model trained on this cannot be measured on them.**"


def _rows(manifest: Manifest) -> Iterator[str]:
    file = manifest.files[0]
    yield ""
    yield "## Rows"
    yield ""
    yield f"Each line of `{file.name}` (`{file.format}`) holds {_ROWS.get(file.form, 'one episode')}."
    if file.tokens is not None:
        yield f"{file.trainable_tokens} of {file.tokens} tokens were drawn by the model and are trained on."


def _composition(manifest: Manifest) -> Iterator[str]:
    for name, counts in manifest.composition.items():
        yield ""
        yield from _table(f"## Episodes by {name}", (name, "episodes"), counts)


def _left_out(manifest: Manifest) -> Iterator[str]:
    yield ""
    yield "## Left out"
    yield ""
    unmatched = {f"not {condition}": count for condition, count in manifest.unmatched.items()}
    excluded = reasons_of(manifest.excluded)
    yield f"{manifest.seen} episodes were looked at."
    for title, counts in (("Not asked for:", unmatched), ("Asked for and left out:", excluded)):
        if counts:
            yield ""
            yield title
            yield ""
            yield from (f"- {line}" for line in tally(counts))


def _origin(manifest: Manifest) -> Iterator[str]:
    yield ""
    yield "## Origin"
    yield ""
    yield f"- models: {', '.join(manifest.models) or 'not recorded'}"
    yield f"- chat templates (SHA-256): {', '.join(manifest.templates) or 'not recorded'}"
    yield from (f"- {file.name} (SHA-256): {file.sha256}" for file in manifest.files)
    yield ""
    yield "`manifest.json` names every episode."
    yield ""


def _table(title: str, columns: tuple[str, str], counts: Mapping[str, int]) -> Iterator[str]:
    yield title
    yield ""
    yield f"| {columns[0]} | {columns[1]} |"
    yield "|---|---:|"
    yield from (f"| {name.replace('|', '&#124;')} | {count} |" for name, count in counts.items())
