"""What earlier runs of a repository let one expect of the next."""

from ralph.core.forecast import describe_forecast
from ralph.model.store_ports import RunStore

MAX_FORECAST_RUNS = 100  # of the latest runs
_LABELS_BY_KIND = {"execute": "tasks like these", "story": "loops like this", "supervise": "tasks like this"}


def describe_run_forecast(runs: RunStore, kind: str) -> str:
    """tasks like these took 3–7 iterations, $0.40–1.10; empty where too few were completed."""
    done = [run for run in runs.list_latest(MAX_FORECAST_RUNS) if run.kind == kind and run.outcome == "completed"]
    costs = [run.cost_usd for run in done if run.cost_usd is not None]
    return describe_forecast(_LABELS_BY_KIND.get(kind, "runs like this"), [run.iteration for run in done], costs)
