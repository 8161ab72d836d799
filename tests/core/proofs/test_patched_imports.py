"""A new test may test what it imports, and not change it for the others."""

import pytest

from ralph.core.proofs.patched_imports import describe_patched_import


@pytest.mark.parametrize(
    "text",
    [
        "import calc\n\ncalc.add = lambda a, b: a + b\n",
        "import app.calc as c\n\n\ndef setup_module():\n    c.add = max\n",
        "from calc import Sum\n\n\nclass TestA:\n    def test(self):\n        Sum.add = max\n",
        'import calc\n\n\ndef test():\n    setattr(calc, "add", max)\n',
        'import sys\n\nsys.modules["calc"] = None\n',
        "import calc\n\ndel calc.check\n",
        "import calc\n\ncalc.limit += 5\n",
    ],
)
def test_changing_what_is_imported_is_named(text: str) -> None:
    assert describe_patched_import(text).startswith("changes what it imports: `")


def test_a_patch_that_is_never_stopped_is_named() -> None:
    started = 'from unittest import mock\n\nmock.patch("calc.add", max).start()\n'
    assert describe_patched_import(started) == "starts a patch and never stops it"
    assert describe_patched_import(f"{started}\n\ndef tearDownModule():\n    mock.patch.stopall()\n") == ""


@pytest.mark.parametrize(
    "text",
    [
        "import calc\n\n\ndef test():\n    assert calc.add(1, 2) == 3\n",
        "import calc\n\n\ndef test(monkeypatch):\n    monkeypatch.setattr(calc, 'limit', 5)\n",
        "import calc\n\n\ndef test():\n    with mock.patch.object(calc, 'add'):\n        pass\n",
        "from calc import Sum\n\n\ndef test():\n    one = Sum()\n    one.limit = 5\n    all = {}\n    all['a'] = 1\n",
        "import calc\n\nadd = calc.add\n",
        "this is no Python\n",
    ],
)
def test_using_it_is_what_tests_do(text: str) -> None:
    assert describe_patched_import(text) == ""
