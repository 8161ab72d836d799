"""The yardstick of the stream: the same lines, decoded by msgspec in bare Python, and nothing else.

It is bound by the processor, as ralph is; a copy to a file is bound by memory and disk, and varied fivefold.
"""

import sys

import msgspec

BLOCK = 1 << 20


def decode_lines(path: str) -> int:
    """How many lines there were."""
    decode, count, rest = msgspec.json.Decoder().decode, 0, b""
    with open(path, "rb", buffering=0) as file:
        while block := file.read(BLOCK):
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                decode(line)
            count += len(lines)
    return count


if __name__ == "__main__":
    print(decode_lines(sys.argv[1]))
