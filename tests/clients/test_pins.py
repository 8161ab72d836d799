"""What the real CLIs are pinned to; needs none of them."""

import importlib
import json
import re

import pytest

from support.client_room import PACKAGES, PINS, pinned

LOCK = PINS.with_name("package-lock.json")


@pytest.mark.parametrize("agent", PACKAGES)
def test_an_adapter_names_the_version_it_was_tried_with(agent: str) -> None:  # issue 4
    verified: str = importlib.import_module(f"ralph.agents.{agent}").TRAITS.verified
    assert verified == f"{pinned(agent)}, with the scripted model"


def test_the_lock_holds_no_address() -> None:  # issue 4
    text = LOCK.read_text()
    assert not re.search(r"https?:|registry\.|\"resolved\"", text)


def test_the_lock_is_of_these_pins() -> None:
    packages = json.loads(LOCK.read_text())["packages"]
    for agent, package in PACKAGES.items():
        assert packages[f"node_modules/{package}"]["version"] == pinned(agent)
