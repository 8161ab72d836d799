"""A test file that was only added to is welcome; one that was reached into is not."""

import pytest

from ralph.core.proofs.additions import is_only_added_to

OLD = (
    "import pytest\nfrom calc import add\n\n\ndef test_a():\n    assert add(1, 1) == 2\n\n\n"
    "class TestX:\n    def test_m(self):\n        assert add(2, 2) == 4\n"
)
JS = "import {add} from './calc'\ndescribe('x', () => {\n  it('a', () => {\n    expect(add(1, 1)).toBe(2)\n  })\n})\n"


@pytest.mark.parametrize(
    "new",
    [
        OLD,
        f"{OLD}\n\ndef test_c():\n    assert add(0, 0) == 0\n",
        f"import os\n{OLD}\n\nasync def test_c():\n    assert os\n",
        f"{OLD}\n    def test_n(self):\n        assert 2\n",
        f"{OLD}\n\nclass TestY:\n    def test_m(self):\n        assert 2\n",
        f"{OLD}\nCASES = [1, 2]\n",
        f"{OLD}\n\n@pytest.fixture\ndef one():\n    return 1\n",
        OLD.replace("import add", "import add, sub"),
        f'"""What it is about."""\n{OLD}',
        OLD.replace("def test_a", "# why\ndef test_a"),
    ],
)
def test_new_tests_and_helpers_only_add(new: str) -> None:
    assert is_only_added_to("python", OLD, new)


@pytest.mark.parametrize(
    "new",
    [
        OLD.replace("    assert add(1", "    return\n    assert add(1"),
        f"{OLD}\n\ndef test_a():\n    assert True\n",
        f"{OLD}\nadd = max\n",
        f"from fake import add\n{OLD}",
        f"{OLD}\nfrom fake import *\n",
        f"{OLD}\npytestmark = []\n",
        f"{OLD}\ntest_b = setattr(pytest, 'x', 1)\n",
        f"{OLD}\nadd.x = 1\n",
        f"{OLD}\nif True:\n    pass\n",
        f"{OLD}\n\n@pytest.fixture(autouse=True)\ndef patch():\n    yield\n",
        f"{OLD}\n\ndef setup_module():\n    pass\n",
        OLD.replace("class TestX:", "class TestX(Base):"),
        OLD.replace("def test_a():", "@mark\ndef test_a():"),
        OLD.replace("def test_a():", "def test_a(patched):"),
        f"{OLD}\nthis is no Python\n",
        "",
    ],
)
def test_what_reaches_into_old_tests_does_not(new: str) -> None:
    assert not is_only_added_to("python", OLD, new)


@pytest.mark.parametrize(
    ("new", "added"),
    [
        (f"{JS}\ntest('x', () => {{ expect(2).toBe(2) }})\n", True),
        (JS.replace("  })\n})", "  })\n  it('b', () => {\n    expect(1).toBe(1)\n  })\n})"), True),
        (f"import x from 'x'\n{JS}", True),
        (JS.replace("    expect", "    return\n    expect"), False),
        (f"jest.mock('./calc')\n{JS}", False),
        (JS.replace("toBe(2)", "toBe(3)"), False),
        (f"{JS}\nit('open', () => {{\n", False),
    ],
)
def test_blocks_of_other_languages_only_add(new: str, added: bool) -> None:
    assert is_only_added_to("javascript", JS, new) is added
