"""Tasks about builds and deployments."""

from examples.systems.store import State
from examples.tasks.sketch import Brief, Sketch, call, created, updated

_SERVICES = 3


class _Line:
    """A CI/CD system and the service that a task is about, with its latest build.

    Attributes:
        service: the service.
        live: its live build.
        previous: the build that was live before.
        latest: its latest build, newer than the live one.
        failed_test: the test that broke the latest build, if it failed.
        start: the start state.
    """

    def __init__(self, brief: Brief, latest_status: str) -> None:
        """Draw them; the latest build ended so."""
        company = brief.company
        cicd: State = company.cicd(_SERVICES, brief.service)
        self.service = brief.service or company.draw.choice(list(cicd["services"]))
        state = cicd["services"][self.service]
        self.live, self.previous = int(state["live_build"] or 0), int(state["previous_build"] or 0)
        self.latest = max(int(number) for number, row in cicd["builds"].items() if row["service"] == self.service)
        cicd["builds"][str(self.latest)] = build = company.build(self.service, latest_status)
        self.failed_test = str(build["failed_test"] or "")
        self.start = {"cicd": cicd}

    @property
    def entities(self) -> tuple[str, ...]:
        """The service and its latest build."""
        return (f"service {self.service}", f"build {self.latest}")


def rollback_service(brief: Brief) -> Sketch:
    """Roll a service back: one call."""
    line = _Line(brief, "passed")
    return Sketch(
        words={"service": line.service},
        start=line.start,
        calls=(call("cicd_rollback_service", service=line.service),),
        conclusion=f"The rollback of {line.service} to build {line.previous} has started.",
        entities=line.entities,
        expected=(
            updated(f"cicd/services/{line.service}", live_build=line.previous, previous_build=line.live),
            created(
                "cicd/deployments",
                service=line.service,
                build_id=line.previous,
                kind="rollback",
                status="succeeded",
            ),
        ),
    )


def release_if_green(brief: Brief) -> Sketch:
    """Release a service if its latest build passed: two calls; every second time it failed, and nothing may happen."""
    green = brief.turn % 2 == 0
    line = _Line(brief, "passed" if green else "failed")
    look = call("cicd_latest_build", service=line.service)
    if not green:
        return Sketch(
            words={"service": line.service},
            start=line.start,
            calls=(look,),
            conclusion=f"Build {line.latest} of {line.service} failed, so I did not deploy it.",
            entities=line.entities,
            answer="failed",
        )
    return Sketch(
        words={"service": line.service},
        start=line.start,
        calls=(look, call("cicd_deploy_build", build_id=line.latest)),
        conclusion=f"Build {line.latest} of {line.service} passed and is being deployed.",
        entities=line.entities,
        expected=(
            updated(f"cicd/services/{line.service}", live_build=line.latest, previous_build=line.live),
            created("cicd/deployments", service=line.service, build_id=line.latest, kind="release", status="succeeded"),
        ),
    )


def retry_build(brief: Brief) -> Sketch:
    """Run the latest build of a service again: two calls."""
    line = _Line(brief, "failed")
    return Sketch(
        words={"service": line.service},
        start=line.start,
        calls=(call("cicd_latest_build", service=line.service), call("cicd_retry_build", build_id=line.latest)),
        conclusion=f"Build {line.latest} of {line.service} is running again.",
        entities=line.entities,
        expected=(
            created("cicd/builds", service=line.service, status="passed", failed_test=None, retry_of=line.latest),
        ),
    )


def failed_test(brief: Brief) -> Sketch:
    """Tell which test broke the latest build of a service: two reads, the second a log."""
    line = _Line(brief, "failed")
    return Sketch(
        words={"service": line.service},
        start=line.start,
        calls=(call("cicd_latest_build", service=line.service), call("cicd_build_log", build_id=line.latest)),
        conclusion=f"The test {line.failed_test} failed.",
        entities=(*line.entities, f"test {line.failed_test}"),
        answer=line.failed_test,
    )
