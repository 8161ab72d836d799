"""Use case: how well agents do: first-pass rate, iterations and cost of what was done, checks that fail most."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct, field

from ralph.app.paths import Paths
from ralph.app.repositories import list_repositories
from ralph.app.stores import open_existing_stores
from ralph.model.loop import Checked, Observation, Reported, Verified
from ralph.model.runs import RunRecord
from ralph.model.store_ports import RunStore

MAX_COUNTED_RUNS = 1000  # the latest of each repository
MAX_CHECKS = 5


class AgentStatistics(Struct, kw_only=True):
    """All runs of one agent with one model."""

    agent: str
    model: str
    runs: int = 0
    done: int = 0
    first_pass: int = 0  # of those: without one red check or failed verification on the way
    iterations: int = 0  # of those
    cost_usd: float = 0.0  # of those, where it is known
    estimated_usd: float = 0.0  # of those that told none, by tokens and `prices`
    priced: int = 0  # how many of those told a cost, or have an estimate
    failed_checks: dict[str, int] = field(default_factory=dict)  # the most frequent, the worst first


def read_statistics(paths: Paths, since: float) -> list[AgentStatistics]:
    """Of one repository."""
    return _sort_agents(_collect_runs([paths], since))


def read_all_statistics(variables: Mapping[str, str], here: Paths, since: float) -> list[AgentStatistics]:
    """Of every repository of this machine that ralph ran in."""
    places = {paths.state: paths for paths in (*list_repositories(variables), here)}
    return _sort_agents(_collect_runs([*places.values()], since))


def _collect_runs(places: Sequence[Paths], since: float) -> dict[tuple[str, str], AgentStatistics]:
    found: dict[tuple[str, str], AgentStatistics] = {}
    for paths in places:
        with open_existing_stores(paths) as stores:
            for run in [] if stores is None else stores.runs.list_latest(MAX_COUNTED_RUNS):
                if stores is not None and run.ended_at is not None and run.started_at >= since:
                    _add_run(found, run, stores.runs)
    return found


def _add_run(found: dict[tuple[str, str], AgentStatistics], run: RunRecord, runs: RunStore) -> None:
    agent, model, red, estimated = run.agent, "", Counter[str](), 0.0
    for seen, _ in runs.list_transitions(run.id):
        match _read_fact(seen):
            case Reported() as reported:
                agent, model = reported.agent or agent, reported.model or model
                estimated += (reported.estimated_usd or 0.0) if reported.cost_usd is None else 0.0
            case Checked(results=results):
                red.update(result.gate for result in results if not result.passed)
            case Verified(verified=False, reason=reason):
                red[reason.splitlines()[0] if reason else "verification"] += 1
    if run.iteration == 0:
        return  # no agent ran
    one = found.setdefault((agent, model), AgentStatistics(agent=agent, model=model))
    one.runs += 1
    one.failed_checks = dict((Counter(one.failed_checks) + red).most_common())
    if run.outcome == "completed":
        one.done += 1
        one.first_pass += not red
        one.iterations += run.iteration
        one.cost_usd += run.cost_usd or 0.0
        one.estimated_usd += estimated
        one.priced += run.cost_usd is not None or estimated > 0


def _read_fact(seen: bytes) -> object:
    try:
        return msgspec.json.decode(seen, type=Observation).fact
    except (msgspec.DecodeError, ValueError):
        return None  # of another version


def _sort_agents(found: Mapping[tuple[str, str], AgentStatistics]) -> list[AgentStatistics]:
    for one in found.values():
        one.failed_checks = dict([*one.failed_checks.items()][:MAX_CHECKS])
    return sorted(found.values(), key=lambda one: (-one.runs, one.agent, one.model))
