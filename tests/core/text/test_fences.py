"""Code fences of a Markdown text."""

import pytest

from ralph.core.text.fences import classify_fenced_lines, find_open_fence


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```\nx\n```\ny", ["y"]),
        ("   ```\nx\n   ```\ny", ["y"]),
        ("      ```\n      x\n      ```\ny", ["y"]),
        ("> ```\n> x\n> ```\ny", ["y"]),
        ("> > ~~~\n> > x\n> > ~~~\n> y", ["> y"]),
        ("> ```\n> x\ny", ["y"]),  # the quote ends, and its fence with it
        ("- ```\n  x\n  ```\ny", ["y"]),
        ("* item\n\n  ```sh\n  x\n  ```\ny", ["* item", "", "y"]),
        ("12) ```\n    x\n    ```\ny", ["y"]),
        ("> - ```\n>   x\n>   ```\ny", ["y"]),
        ("```\n> ```\n- ```\nx\n```\ny", ["y"]),  # neither closes a fence that stands outside
        ("````\n```\n````\ny", ["y"]),
        ("```a``` b\ny", ["```a``` b", "y"]),  # inline code
        ("~~~ a ``` b\nx\n~~~\ny", ["y"]),
        ("```\nx", []),
        ("-```\ny", ["-```", "y"]),
    ],
)
def test_what_stands_in_a_fence_is_not_said(text: str, said: list[str]) -> None:
    assert [line for line, is_said in classify_fenced_lines(text) if is_said] == said


@pytest.mark.parametrize(
    ("text", "fence"), [("```\nx", "```"), ("> ~~~~\n> x", ">~~~~"), ("```\nx\n```", ""), ("> ```\ny", ""), ("", "")]
)
def test_the_fence_that_is_still_open(text: str, fence: str) -> None:
    assert find_open_fence(text) == fence
