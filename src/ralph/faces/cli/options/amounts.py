"""Amounts on the command line: how often, and how much money."""

from typing import Any

import click

from ralph.model.bounds import MAX_AMOUNT, MAX_COUNT


class CountParam(click.IntRange):
    """A whole number from `least` up to the largest count that is allowed."""

    def __init__(self, least: int = 1) -> None:
        super().__init__(min=least)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401  # as click has it
        try:
            int(value)
        except ValueError:
            self.fail(f"{str(value)[:60]!r} is not a valid integer{_suggest_model(str(value), param)}", param, ctx)
        number = int(super().convert(value, param, ctx))
        if number > MAX_COUNT:
            self.fail(f"{str(value)[:60]!r} is too many; write a whole number up to {MAX_COUNT:,}", param, ctx)
        return number


def _suggest_model(value: str, param: click.Parameter | None) -> str:
    """Other commands, and the agents themselves, have -m for the model."""
    is_short = param is not None and "-m" in param.opts
    return f"; for a model: --model {value}" if is_short and value[:1].isalpha() else ""


class DollarsParam(click.ParamType):  # type: ignore[type-arg]  # not generic before click 8.4
    """A finite amount greater than zero."""

    name = "usd"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            amount = float(str(value))
        except ValueError:
            amount = 0.0
        if not 0 < amount <= MAX_AMOUNT:  # nor is what compares with nothing
            wanted = f"write a number > 0 and up to {MAX_AMOUNT:,.0f}, for example 5 or 2.50"
            self.fail(f"{value!r} is not an amount of dollars; {wanted}", param, ctx)
        return amount
