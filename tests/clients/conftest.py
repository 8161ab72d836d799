"""Fixtures for the tests with real agent CLIs, which run only when asked for: they take minutes."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.client_room import ClientFixture, IsolatedNetwork, skip_unless_installed

MARKS = {
    "clients": "the real Claude Code, two versions of it, and Codex; on every submission",
    "clients_slow": "all the others, and every test with the newest Claude Code; by `make test-clients`",
}


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in MARKS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "clients" in config.option.markexpr:
        return
    ours = [item for item in items if item.get_closest_marker("clients") or item.get_closest_marker("clients_slow")]
    config.hook.pytest_deselected(items=ours)
    items[:] = [item for item in items if item not in ours]


@pytest.fixture(scope="session")
def network() -> Iterator[IsolatedNetwork]:
    """Loopback only, where the machine allows it."""
    made = IsolatedNetwork()
    if not made.alone:
        warnings.warn("no network namespace can be made here: the CLIs have the machine's own network", stacklevel=1)
    yield made
    made.close()


@pytest.fixture
def room(request: pytest.FixtureRequest, tmp_path: Path, network: IsolatedNetwork) -> Iterator[ClientFixture]:
    """A room with the agent that the test is about."""
    agent: str = request.param
    skip_unless_installed(agent)
    made = ClientFixture(tmp_path, network, agent)
    yield made
    made.close()
