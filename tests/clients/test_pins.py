"""What the real CLIs are pinned to; needs none of them."""

import importlib
import json
import re

import pytest

from support.client_room import NEWEST_SUFFIX, NPM_PACKAGES, PINS_FILE, read_pinned_version

LOCK = PINS_FILE.with_name("package-lock.json")


@pytest.mark.parametrize("agent", sorted({name.removesuffix(NEWEST_SUFFIX) for name in NPM_PACKAGES}))
def test_an_adapter_names_the_versions_it_was_tried_with(agent: str) -> None:  # issue 4, issue 12
    verified: str = importlib.import_module(f"ralph.agents.{agent}").CARD.verified
    names = [name for name in (agent, f"{agent}{NEWEST_SUFFIX}") if name in NPM_PACKAGES]
    assert verified == f"{' and '.join(map(read_pinned_version, names))}, with the scripted model"


def test_the_lock_holds_no_address() -> None:  # issue 4
    text = LOCK.read_text()
    assert not re.search(r"https?:|registry\.|\"resolved\"", text)


def test_the_lock_is_of_these_pins() -> None:
    packages = json.loads(LOCK.read_text())["packages"]
    for agent, package in NPM_PACKAGES.items():
        assert packages[f"node_modules/{package}"]["version"] == read_pinned_version(agent)
