"""Less to import: a tenth of the start of `ralph run`."""

import os
import sys
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """Stands for a module until something of it is used."""

    def cleandoc(self, text: str) -> str:
        """What click uses of `inspect` for every option: a line is clean."""
        return str(self.__getattr__("cleandoc")(text)) if "\n" in text else text.strip()

    def system(self) -> str:
        """What `uuid` asks `platform` at once."""
        return os.uname().sysname

    def gettext(self, message: str) -> str:
        """Click has no other language than we have; asking for one takes half as long as parsing."""
        return message

    def ngettext(self, one: str, more: str, count: int) -> str:
        """The same."""
        return one if count == 1 else more

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the module has
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        __import__(self.__name__)
        real = sys.modules[self.__name__]
        self.__dict__.update(real.__dict__)
        return getattr(real, name)


def travel_light() -> None:
    """Leave behind what msgspec and click name at once and hardly ever use; called before either is imported."""
    if "msgspec" in sys.modules:
        return
    for name in {"inspect", "textwrap", "platform", "gettext", "msgspec.inspect"}.difference(sys.modules):
        sys.modules[name] = _Later(name)
    if "typing_extensions" not in sys.modules:
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]  # "not there": our Python has it all itself
        import msgspec  # noqa: F401

        del sys.modules["typing_extensions"]
