"""What the database says, in Prometheus' text form."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ralph.app.board.tasks import list_cards
from ralph.app.paths import Paths
from ralph.app.runs.spending import Expense, list_expenses
from ralph.app.runs.status import list_recent_runs
from ralph.model.spec import TASK_STATUSES

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
ALL_RUNS = 1_000_000
Labels = tuple[tuple[str, str], ...]
Samples = Mapping[Labels, float]


def render_metrics(places: Mapping[str, Paths]) -> str:
    """Of these repositories, by their keys."""
    runs, active, tasks = Counter[Labels](), Counter[Labels](), Counter[Labels]()
    iterations, costs, tokens = Counter[Labels](), Counter[Labels](), Counter[Labels]()
    for key, paths in places.items():
        here = ("repository", key)
        tasks.update({(here, ("status", status)): 0 for status in TASK_STATUSES})
        tasks.update((here, ("status", card.status)) for card in list_cards(paths))
        for run in list_recent_runs(paths, ALL_RUNS):
            kind = ("kind", run.kind)
            iterations[here, kind] += run.iteration
            if run.ended_at is None:
                active[here, kind] += 1
            else:
                runs[here, kind, ("outcome", run.outcome or "unknown")] += 1
        _add_expenses(list_expenses(paths, 0.0), here, costs, tokens)
    families = [
        _render_family("ralph_tasks", "gauge", "Tasks by status.", tasks),
        _render_family("ralph_runs_active", "gauge", "Runs that have not ended.", active),
        _render_family("ralph_runs_total", "counter", "Runs that have ended, by outcome.", runs),
        _render_family("ralph_iterations_total", "counter", "Agent runs of all loops.", iterations),
        _render_family("ralph_cost_usd_total", "counter", "What agents and judges cost, in US dollars.", costs),
        _render_family("ralph_tokens_total", "counter", "Tokens, as agents count them.", tokens),
    ]
    return "".join(families)


def _add_expenses(
    expenses: Iterable[Expense], here: tuple[str, str], costs: Counter[Labels], tokens: Counter[Labels]
) -> None:
    amounts: dict[Labels, float] = {}
    for each in expenses:
        agent, usage = ("agent", each.agent), each.usage
        amounts[here, agent] = amounts.get((here, agent), 0.0) + (each.cost_usd or each.estimated_usd or 0.0)
        tokens[here, agent, ("type", "input")] += usage.input_tokens
        tokens[here, agent, ("type", "output")] += usage.output_tokens
        tokens[here, agent, ("type", "cache_read")] += usage.cache_read_tokens
        tokens[here, agent, ("type", "cache_write")] += usage.cache_write_tokens
    costs.update(amounts)


def _render_family(name: str, kind: str, text: str, samples: Samples) -> str:
    lines = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    lines += [f"{name}{{{_render_labels(labels)}}} {value:.12g}" for labels, value in sorted(samples.items())]
    return "\n".join(lines) + "\n"


def _render_labels(labels: Sequence[tuple[str, str]]) -> str:
    return ",".join(f'{key}="{_escape_label(value)}"' for key, value in labels)


def _escape_label(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
