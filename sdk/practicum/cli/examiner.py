"""Evaluates what a path made: serves it in the local installation and has the gateway run the held-out tasks."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from practicum.cli.output import short
from practicum.cli.services.bundles import register_bundle
from practicum.cli.services.local import admin_of, local_server
from practicum.cli.services.state import StateDirectory
from practicum.client import AsyncPracticum, Practicum
from practicum.contracts.evaluation import EvaluationReport
from practicum.contracts.models import ModelSpec, Provider, reference
from practicum.errors import NotFoundError
from practicum.evaluation import Progress, evaluate
from practicum.stages.maker import read_solved
from practicum.stages.path import PathSettings
from practicum.stages.references import examples_of
from practicum.stages.walk import Candidate
from practicum.tasks import Suite


class LocalExaminer:
    """Serves and evaluates in one installation; a `practicum.stages.walk.Examiner`."""

    def __init__(self, state: StateDirectory, suite: Suite, path: PathSettings, tell: Callable[[str], None]) -> None:
        """Take what it works with.

        Args:
            state: the installation's folder.
            suite: the tasks and what judges them.
            path: how models are asked and evaluated.
            tell: is told of every attempt, a line at a time.
        """
        self._state, self._suite, self._path, self._tell = state, suite, path, tell

    def evaluate(self, candidate: Candidate, folder: Path) -> EvaluationReport:
        """Make the candidate a version of the path's alias, and evaluate that version.

        Raises:
            ConfigurationError: nothing runs here, or the candidate cannot be served here.
            PracticumError: the gateway refuses something, or is gone.
        """
        if candidate.bundle is None:
            with admin_of(self._state) as client:
                _put(client, self._spec(candidate))
        else:
            register_bundle(
                self._state,
                self._path.alias,
                candidate.bundle,
                version=candidate.version,
                sampling=self._path.model.sampling,
                fields={"constrained": candidate.constrained},
                report=self._tell,
            )
        return asyncio.run(self._evaluated(reference(self._path.alias, candidate.version), folder))

    def _spec(self, candidate: Candidate) -> ModelSpec:
        """The model as it is, with solved tasks to show or without."""
        model = self._path.model
        local = model.provider is Provider.LLAMA_CPP and model.base_url is None
        examples = (
            None
            if candidate.references is None
            else examples_of(read_solved(candidate.references), candidate.shown, candidate.embedder)
        )
        return ModelSpec(
            alias=self._path.alias,
            provider=model.provider,
            target=model.target,
            base_url=local_server(self._state) if local else model.base_url,
            codec=model.codec if model.provider.renders else None,
            constrained=candidate.constrained,
            sampling=model.sampling,
            system=self._path.system,
            examples=examples,
            version=candidate.version,
        )

    async def _evaluated(self, model: str, folder: Path) -> EvaluationReport:
        measuring = self._path.evaluation
        with admin_of(self._state) as client:
            url = client.url
        async with AsyncPracticum(url, self._state.keys().admin) as client:
            return await evaluate(
                client,
                self._suite,
                model=model,
                folder=folder,
                k=measuring.attempts,
                limit=measuring.limit,
                limits=measuring.limits,
                seed=measuring.seed,
                concurrency=measuring.concurrency,
                on_attempt=self._attempted,
            )

    def _attempted(self, progress: Progress) -> None:
        attempt = progress.attempt
        verdict = "unscored" if attempt.reward is None else f"{attempt.reward:g}"
        why = short("; ".join(attempt.differences), 100)
        self._tell(f"{progress.done}/{progress.total} {attempt.task} {verdict} {why}".rstrip())


def _put(client: Practicum, spec: ModelSpec) -> None:
    """Register a version, or the alias with it as its first."""
    try:
        client.models.add_version(spec)
    except NotFoundError:
        client.models.register(spec)
