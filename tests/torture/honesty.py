"""Plays every history, prints how each ended, and writes docs/honesty.md."""

import argparse
import sys
import tempfile
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from torture.catalog import list_honest_work, list_tamperings
from torture.history import Case
from torture.page import render_page
from torture.play import Played, describe_result, play

PAGE = Path(__file__).parents[2] / "docs" / "honesty.md"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", default="", help="histories with these words in their name or kind; no page is written"
    )
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    cases = [case for case in (*list_tamperings(), *list_honest_work()) if given.only in f"{case.kind} {case.name}"]
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(given.jobs) as pool:
        numbered = [(case, f"{folder}/{number}", folder) for number, case in enumerate(cases)]
        results = []
        for case, played in zip(cases, pool.map(_play_one, numbered), strict=True):
            results.append((case, describe_result(case, played)))
            _print_result(*results[-1], played)
    surprises = [case for case, ending in results if ending != case.expected]
    print(f"{len(results)} histories, {len(surprises)} not as expected")
    if not given.only:
        PAGE.write_text(render_page(results))
    return 1 if surprises else 0


def _play_one(numbered: tuple[Case, str, str]) -> Played:
    case, folder, templates = numbered
    Path(folder).mkdir()
    try:
        return play(case, Path(folder), Path(templates))
    except Exception:  # noqa: BLE001  # one history that cannot be played stops no other
        return Played(ending="error", calls=0, seconds=0, told=traceback.format_exc())


def _print_result(case: Case, ending: str, played: Played) -> None:
    mark = " " if ending == case.expected else "!"
    print(f"{mark} {case.expected:9} {ending:9} {played.calls} {played.seconds:4.1f}s {case.name}", flush=True)
    if mark == "!":
        print(f"      {played.told[-600:]}")


if __name__ == "__main__":
    sys.exit(main())
