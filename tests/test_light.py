"""Modules that are imported only when something of them is used."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from ralph._light import travel_light
travel_light()
{}
"""


def says(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", SCRIPT.format(code)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import inspect; print(inspect.cleandoc(' one line '), 'dis' in sys.modules)", "one line False"),
        ("import inspect; print(inspect.cleandoc('''a\n    b'''), 'dis' in sys.modules)", "a\nb True"),
        ("from inspect import isfunction; print(isfunction(travel_light))", "True"),
        (
            "import inspect; print(inspect.isfunction(1)); import inspect; print(inspect.__file__[-10:])",
            "False\ninspect.py",
        ),
        ("import textwrap; print(textwrap.dedent('  a'))", "a"),
        ("import platform; print(platform.system() == sys.platform.title(), platform.machine() != '')", "True True"),
        ("import uuid; print(uuid.UUID(int=5).int)", "5"),
        ("from gettext import gettext, ngettext; print(gettext('a'), ngettext('one', 'more', 2))", "a more"),
        ("import gettext; print(gettext.NullTranslations().gettext('a'))", "a"),
        ("import msgspec; print(msgspec.inspect.type_info(str).max_length)", "None"),
        ("import typing_extensions; print(typing_extensions.__name__)", "typing_extensions"),
    ],
)
def test_whoever_uses_them_finds_them(code: str, said: str) -> None:
    assert says(code) == said


def test_what_is_there_already_stays() -> None:
    assert (
        says("import msgspec, inspect; real = inspect.signature; travel_light(); print(inspect.signature is real)")
        == "True"
    )
