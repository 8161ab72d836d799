"""Draws the rooms of the house from the import graph: docs/pictures/rooms.svg.

python tools/draw_rooms.py           write it
python tools/draw_rooms.py --check   exit 1 when it is stale

Floors are the layers of the contracts in pyproject.toml, what a room says of itself is the docstring of its package,
and what it imports is what its modules really import.
"""

import ast
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import grimp

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "rooms.svg"
WIDTH, MARGIN, GAP = 1180, 14, 8
LINE, TITLE_SIZE, TEXT_SIZE = 15, 14, 11.5
CHAR_WIDTH, NAME_WIDTH = 6.1, 9.4  # of the small text and of a name, on average
FILLS = ("#f4f6fb", "#e3e9f6", "#d3ddf0")  # the deeper inside, the darker
STYLE = (
    "text{font-family:system-ui,sans-serif;fill:#1d2433}"
    f".name{{font-size:{TITLE_SIZE}px;font-weight:600}}.small{{font-size:{TEXT_SIZE}px}}"
)
CHIP_FILL = "#fff7d6"
Layers = Mapping[str, Sequence[Sequence[str]]]


@dataclass(frozen=True, kw_only=True)
class Room:
    """A package, or a module that stands beside packages, with the rooms inside it, floor by floor."""

    name: str
    purpose: str
    imports: Sequence[str]
    floors: Sequence[Sequence["Room"]]


class Spot(NamedTuple):
    """Where a box begins, and how wide it is."""

    x: float
    y: float
    width: float


# -- what there is ----------------------------------------------------------------------------------
def read_layers() -> Layers:
    """The floors of each package that has a contract for them, by the package's name."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers: dict[str, list[list[str]]] = {}
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers":
            for container in contract.get("containers", ["ralph"]):
                floors = [
                    [name.strip().removeprefix("ralph.") for name in each.split("|")] for each in contract["layers"]
                ]
                layers[container] = floors
    return layers


def read_room(module: str, layers: Layers, imports: Mapping[str, Sequence[str]]) -> Room:
    inner = layers.get(module) or [sorted(_packages(module))]
    return Room(
        name=module.rpartition(".")[2],
        purpose=_read_purpose(module),
        imports=imports.get(module, ()),
        floors=[[read_room(f"{module}.{name}", layers, imports) for name in floor] for floor in inner if floor],
    )


def read_imports() -> dict[str, list[str]]:
    """Which rooms of the house each room imports, its own aside."""
    graph = grimp.build_graph("ralph", exclude_type_checking_imports=True, cache_dir=None)
    found: dict[str, set[str]] = {}
    for module in graph.modules:
        room = _room_of(module)
        others = {_room_of(each) for each in graph.find_modules_directly_imported_by(module)}
        found.setdefault(room, set()).update(others - {room})
    known = set(_packages("ralph"))
    return {f"ralph.{room}": sorted(others & known) for room, others in found.items()}


def _room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _packages(module: str) -> list[str]:
    folder = ROOT / "src" / Path(*module.split("."))
    return [each.parent.name for each in folder.glob("*/__init__.py")]


def _read_purpose(module: str) -> str:
    path = ROOT / "src" / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return said.splitlines()[0].replace("`", "")


# -- how it looks -----------------------------------------------------------------------------------
def draw_house(house: Room) -> str:
    height = sum(_height_of_floor(floor, WIDTH - 2 * MARGIN) + GAP for floor in house.floors) + 2 * MARGIN + 2 * LINE
    body = [_text(MARGIN, MARGIN + LINE, "Imports point down only. Yellow: what a room imports.", "small")]
    y = MARGIN + 2.0 * LINE
    for floor in house.floors:
        body += _draw_floor(floor, Spot(MARGIN, y, WIDTH - 2 * MARGIN), 0)
        y += _height_of_floor(floor, WIDTH - 2 * MARGIN) + GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img">',
            "<title>The rooms of ralph, floor by floor</title>",
            f"<style>{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{height:g}" fill="#ffffff"/>',
            *body,
            "</svg>\n",
        ]
    )


def _draw_floor(floor: Sequence[Room], spot: Spot, depth: int) -> Iterator[str]:
    height, x = _height_of_floor(floor, spot.width), spot.x
    for room, wide in zip(floor, _widths(floor, spot.width), strict=True):
        yield from _draw_room(room, Spot(x, spot.y, wide), height, depth)
        x += wide + GAP


def _draw_room(room: Room, spot: Spot, height: float, depth: int) -> Iterator[str]:
    x, y, width = spot
    fill = FILLS[min(depth, len(FILLS) - 1)]
    yield _box(spot, height, f'rx="6" fill="{fill}" stroke="#8a97b5"')
    y += GAP + LINE - 4
    yield _text(x + GAP, y, room.name, "name")
    beside = _beside(room, width)
    if beside:
        yield _text(x + beside, y, room.purpose, "small")
    for line in [] if beside else _wrap(room.purpose, width):
        y += LINE
        yield _text(x + GAP, y, line, "small")
    y += GAP
    for floor in room.floors:
        yield from _draw_floor(floor, Spot(x + GAP, y, width - 2 * GAP), depth + 1)
        y += _height_of_floor(floor, width - 2 * GAP) + GAP
    for row in _chip_rows(room, width):
        at = x + GAP
        for name in row:
            wide = _chip_width(name)
            yield _box(Spot(at, y, wide), LINE + 2, f'rx="8" fill="{CHIP_FILL}" stroke="#d2c48a"')
            yield _text(at + 7, y + LINE - 3, name, "small")
            at += wide + 4
        y += LINE + 6


def _height_of_floor(floor: Sequence[Room], width: float) -> float:
    return max(_height_of_room(room, wide) for room, wide in zip(floor, _widths(floor, width), strict=True))


def _widths(floor: Sequence[Room], width: float) -> list[float]:
    """Equal ones, but for a room that has floors of its own."""
    shares = [2 if len(room.floors) > 1 else 1 for room in floor]
    whole = width - GAP * (len(floor) - 1)
    return [round(whole * share / sum(shares), 1) for share in shares]


def _height_of_room(room: Room, width: float) -> float:
    text = LINE * (1 + (0 if _beside(room, width) else len(_wrap(room.purpose, width))))
    inner = sum(_height_of_floor(floor, width - 2 * GAP) + GAP for floor in room.floors)
    return 2 * GAP + text + inner + len(_chip_rows(room, width)) * (LINE + 6)


def _beside(room: Room, width: float) -> float:
    """Where the purpose begins when it fits on the line of the name; else 0."""
    start = 2 * GAP + len(room.name) * NAME_WIDTH
    return round(start, 1) if start + len(room.purpose) * CHAR_WIDTH + GAP <= width else 0


def _chip_rows(room: Room, width: float) -> list[list[str]]:
    rows: list[list[str]] = []
    for name in room.imports:
        if rows and sum(_chip_width(each) + 4 for each in (*rows[-1], name)) <= width - 2 * GAP:
            rows[-1].append(name)
        else:
            rows.append([name])
    return rows


def _chip_width(name: str) -> float:
    return round(len(name) * CHAR_WIDTH + 14, 1)


def _wrap(text: str, width: float) -> list[str]:
    return textwrap.wrap(text, int((width - 2 * GAP) / CHAR_WIDTH))


def _box(spot: Spot, height: float, look: str) -> str:
    return f'<rect x="{spot.x:g}" y="{spot.y:g}" width="{spot.width:g}" height="{height:g}" {look}/>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(text)}</text>'


def draw() -> str:
    return draw_house(read_room("ralph", read_layers(), read_imports()))


def main(arguments: list[str]) -> int:
    """Write the picture, or say whether it is fresh."""
    wanted = draw()
    if arguments == ["--check"]:
        fresh = PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == wanted
        if not fresh:
            sys.stderr.write("docs/pictures/rooms.svg is stale; run: python tools/draw_rooms.py\n")
        return 0 if fresh else 1
    PICTURE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
