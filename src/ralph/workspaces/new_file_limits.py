"""Which new files a tree does without: what might fill the disk, the largest and the most numerous first."""

from collections import Counter
from collections.abc import Mapping

MAX_NEW_FILE_BYTES = 50 << 20  # bytes; a new file beyond this is left out
MAX_NEW_FILES_BYTES = 500 << 20  # while new files together are beyond this, the largest are
MAX_NEW_FILES = 20_000  # while there are more, whole folders are
MAX_LISTED_NAMES = 5


def choose_left_out(sizes: Mapping[bytes, int]) -> dict[bytes, str]:
    """Of these new files, with the reason. Small ones beside others stay: nothing hides behind a flood."""
    left_out = {name: f"{size >> 20} MB" for name, size in sizes.items() if size > MAX_NEW_FILE_BYTES}
    left_out |= _choose_folders([name for name in sizes if name not in left_out])
    rest = sum(size for name, size in sizes.items() if name not in left_out)
    for name, size in sorted(sizes.items(), key=lambda each: each[1], reverse=True):
        if rest <= MAX_NEW_FILES_BYTES:
            break
        if name not in left_out:
            left_out[name] = f"{size >> 20} MB"
            rest -= size
    return left_out


def describe_left_out(left_out: Mapping[bytes, str]) -> str:
    """In words, folders in the place of many files."""
    folders = Counter(_name_folder(name) for name, why in left_out.items() if why == "too many files")
    names = [f"{folder}/ ({count} new files)" for folder, count in folders.items()]
    for name, why in left_out.items():
        if why != "too many files":
            names.append(f"{name.decode('utf-8', 'backslashreplace')} ({why})")
    more = len(names) - MAX_LISTED_NAMES
    return ", ".join(names[:MAX_LISTED_NAMES]) + (f" and {more} more" if more > 0 else "")


def _choose_folders(names: list[bytes]) -> dict[bytes, str]:
    by_folder = Counter(_name_folder(name) for name in names)
    too_many = set()
    for folder, count in by_folder.most_common():
        if by_folder.total() <= MAX_NEW_FILES:
            break
        if folder:
            too_many.add(folder)
            by_folder[folder] -= count
    return {name: "too many files" for name in names if _name_folder(name) in too_many}


def _name_folder(name: bytes) -> str:
    """The folder at the root it is in; empty where it is in none."""
    return name.rpartition(b"/")[0].partition(b"/")[0].decode("utf-8", "backslashreplace")
