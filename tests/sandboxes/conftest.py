"""Tests with real sandboxes run only when asked for: `make test-sandbox`."""

import pytest

MARK = "sandbox"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARK}: real sandboxes and engines, by `make test-sandbox`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if MARK in config.option.markexpr:
        return
    ours = [item for item in items if item.get_closest_marker(MARK)]
    config.hook.pytest_deselected(items=ours)
    items[:] = [item for item in items if item not in ours]
