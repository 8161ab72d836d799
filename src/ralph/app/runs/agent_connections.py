"""Whether a request over the network comes from inside a run."""

from collections.abc import Mapping

from ralph.app.paths import Paths
from ralph.app.runs.inside_agent import RUN_VARIABLE, STEERING_REASON
from ralph.app.runs.living_runs import is_in_our_namespace, list_living_runs
from ralph.model.errors import InsideAgent
from ralph.process.identity import list_ancestors
from ralph.process.peers import find_peer_processes, read_variable


def refuse_agent_connection(
    client: tuple[str, int], server: tuple[str, int], paths: Paths, variables: Mapping[str, str]
) -> None:
    """For a request that would steer, from whatever process: a token is soon found by an agent that looks for one."""
    known = [living for living in list_living_runs(paths, variables) if is_in_our_namespace(living)]
    for pid in find_peer_processes(client, server) if known else ():
        family, named = {pid, *list_ancestors(pid)}, read_variable(pid, RUN_VARIABLE)
        for living in known:
            if living.run == named or family & {living.guardian, living.pid}:
                raise InsideAgent(
                    f"this request comes from inside run {living.run}: {STEERING_REASON}",
                    "to ask a person, end your answer with <question>your question</question>",
                )
