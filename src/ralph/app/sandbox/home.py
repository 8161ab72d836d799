"""What of the user's home a sandbox gets: programs, the agents' settings and logins. Nothing else of it is there."""

import os
from collections.abc import Iterable, Iterator, Mapping

from ralph.model.agent_card import AgentCard
from ralph.model.sandbox import HomeContent

MAX_AGENT_FILE_BYTES = 4 << 20
_NO_SETTINGS = (".sqlite", ".sqlite-shm", ".sqlite-wal", ".db", ".log", ".jsonl", ".lock", ".sock", ".pid")
# Programs that tools install for one user. Of folders that also hold keys or downloads, the part with programs.
TOOL_PATHS = (
    *(".local/bin", ".local/lib", ".npm-global", ".nvm", ".volta", ".fnm", ".bun/bin", ".deno/bin", ".yarn/bin"),
    *(f".local/share/{name}" for name in ("uv", "pnpm", "pipx", "mise", "fnm", "virtualenvs", "rtx")),
    *(".cargo/bin", ".cargo/env", ".rustup", "go/bin", "sdk", ".pyenv", ".rye", ".conda", "miniconda3", "anaconda3"),
    *(".rbenv", ".rvm", ".gem/ruby", ".asdf", ".sdkman", ".dotnet", ".ghcup", ".opam", ".juliaup", ".nix-profile"),
    *(".nix-defexpr", ".konan", ".swiftly"),
)
# What tools download: kept for the project from one run to the next, apart from the user's own.
DOWNLOAD_FOLDERS = (
    *(".npm", ".cargo/registry", ".cargo/git", "go/pkg", ".m2/repository", ".gradle", ".ivy2/cache"),
    *(".nuget/packages", ".composer/cache", ".pub-cache", ".bundle/cache", ".bun/install", ".stack", ".cabal"),
)


def read_home(home: str, cards: Iterable[AgentCard], variables: Mapping[str, str], caches: str) -> HomeContent:
    """As it is now. `caches`: the folder for what tools download."""
    known = tuple(cards)
    logins = [path for card in known for path in _locate(card, card.login_files, home, variables)]
    return HomeContent(
        folder=home,
        tools=tuple(filter(os.path.exists, (os.path.join(home, name) for name in _list_tool_paths(known)))),
        settings=tuple(path for card in known for path in _list_settings(card, home, variables) if path not in logins),
        folders=tuple(
            path
            for card in known
            for path in _locate(card, card.config_folders, home, variables)
            if os.path.isdir(path)
        ),
        logins=tuple(filter(os.path.isfile, logins)),
        caches=caches,
        downloads=DOWNLOAD_FOLDERS,
    )


def _list_tool_paths(cards: Iterable[AgentCard]) -> list[str]:
    return [*TOOL_PATHS, *(path for card in cards for path in card.program_paths)]


def _locate(card: AgentCard, names: Iterable[str], home: str, variables: Mapping[str, str]) -> Iterator[str]:
    """Below the home, or where the agent's own variable leads."""
    first, place = next(iter(card.home_paths), ""), variables.get(card.home_variable, "") if card.home_variable else ""
    for name in names:
        is_moved = place and (name == first or name.startswith(f"{first}/"))
        yield os.path.normpath(place + name.removeprefix(first)) if is_moved else os.path.join(home, name)


def _list_settings(card: AgentCard, home: str, variables: Mapping[str, str]) -> Iterator[str]:
    """The files right in its folders: what it keeps deeper is records, or is brought in by name."""
    for place in _locate(card, card.home_paths, home, variables):
        if os.path.isfile(place):
            yield place
        elif os.path.isdir(place):
            yield from (entry.path for entry in os.scandir(place) if _is_settings(entry))


def _is_settings(entry: "os.DirEntry[str]") -> bool:
    return entry.is_file() and entry.stat().st_size <= MAX_AGENT_FILE_BYTES and not entry.name.endswith(_NO_SETTINGS)
