"""The generated stream is what the benchmark says it is."""

import json
from itertools import islice

from bench.generate import MB, single_line, stream


def test_the_same_size_gives_the_same_bytes() -> None:
    assert list(islice(stream(MB), 200)) == list(islice(stream(MB), 200))


def test_lines_run_from_200_bytes_to_megabytes() -> None:
    sizes = [len(line) for line in stream(21 * MB)]
    assert min(sizes) >= 200
    assert MB * 0.95 < max(sizes) < 5.1 * MB
    assert 21 * MB <= sum(sizes) < 27 * MB


def test_every_line_is_one_event_of_the_stream_format() -> None:
    events = [json.loads(line) for line in stream(MB)]
    assert {event["type"] for event in events} == {"system", "assistant", "user"}


def test_the_long_line_is_one_tool_result_of_about_the_size_asked_for() -> None:
    (line,) = single_line(2 * MB)
    assert line.count(b"\n") == 1
    assert abs(len(line) - 2 * MB) < 0.05 * MB
    assert json.loads(line)["message"]["content"][0]["type"] == "tool_result"
