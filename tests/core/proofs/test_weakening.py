"""A test file that says less than it did is told from one that says something else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.proofs.suite_marks import MARKS
from ralph.core.proofs.weakening import (
    count_tests,
    describe_danger,
    describe_weakening,
    strip_comment_text,
    strip_comments,
)

PYTHON = (
    'def test_a():\n    assert 1 == 1  # assert\n    assert 2 == 2\n\n\ndef test_b():\n    """assert"""\n    assert 3\n'
)
LANGUAGES = {
    "python": PYTHON,
    "javascript": "describe('x', () => {\n  it('a', () => {\n    expect(1).toBe(1)\n  })\n})\n",
    "go": 'func TestA(t *testing.T) {\n  if 1 != 1 {\n    t.Fatal("x")\n  }\n}\n',
    "rust": "#[test]\nfn a() {\n  assert_eq!(1, 1);\n}\n",
    "java": "@Test\nvoid a() {\n  assertEquals(1, 1);\n}\n",
    "ruby": 'it "adds" do\n  expect(1).to eq(1)\nend\n',
    "php": "public function testA() {\n  $this->assertSame(1, 1);\n}\n",
    "csharp": "[Fact]\npublic void A() {\n  Assert.Equal(1, 1);\n}\n",
    "elixir": 'test "a" do\n  assert 1 == 1\nend\n',
    "swift": "func testA() {\n  XCTAssertEqual(1, 1)\n}\n",
    "c": "TEST(Calc, Adds) {\n  EXPECT_EQ(1, 1);\n}\n",
    "dart": "test('a', () {\n  expect(1, 1);\n});\n",
    "shell": '@test "a" {\n  [ 1 = 1 ]\n}\n',
    "gherkin": "Scenario: a\n  Given x\n  Then y\n",
}
SKIPS = {
    "python": ("def test_b", "@unittest.skip\ndef test_b"),
    "javascript": ("it(", "it.skip("),
    "go": ("if 1", 't.Skip("later")\n  if 1'),
    "rust": ("#[test]", "#[test]\n#[ignore]"),
    "java": ("@Test", "@Disabled\n@Test"),
    "ruby": ("expect", "skip\n  expect"),
    "php": ("$this", "$this->markTestSkipped();\n  $this"),
    "csharp": ("[Fact]", '[Fact(Skip = "x")]'),
    "elixir": ("test ", "@tag :skip\ntest "),
    "swift": ("XCTAssert", "throw XCTSkip()\n  XCTAssert"),
    "c": ("Adds", "DISABLED_Adds"),
    "dart": ("});", "}, skip: true);"),
    "shell": ("[ 1", "skip\n  [ 1"),
    "gherkin": ("Scenario", "@wip\nScenario"),
}


def test_every_language_has_an_example() -> None:
    assert LANGUAGES.keys() == SKIPS.keys() == MARKS.keys()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_skip_is_seen(language: str) -> None:
    old, new = SKIPS[language]
    assert "marked skip" in describe_weakening(language, LANGUAGES[language], LANGUAGES[language].replace(old, new, 1))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_test_that_is_gone_is_counted(language: str) -> None:
    text = LANGUAGES[language]
    assert count_tests(language, text + text) == 2 * count_tests(language, text) > 0
    assert "test" in describe_weakening(language, text + text, text)
    assert "assertion" in describe_weakening(language, text + text, text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_more_of_the_same_is_not_less(language: str) -> None:
    assert describe_weakening(language, LANGUAGES[language], LANGUAGES[language] * 2) == ""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("    assert 2 == 2\n", "", "1 assertion removed"),
        ("    assert 2", "    # assert 2", "1 assertion removed"),
        ("    assert 2 == 2", '    """assert 2 == 2"""', "1 assertion removed"),
        ("def test_b", "def check_b", "1 test removed"),
        ("def test_b", "@pytest.mark.xfail\ndef test_b", "marked skip: `xfail`"),
        ("def test_b", "__test__ = False\n\n\ndef test_b", "marked skip: `__test__`"),
        ("def test_a", "import os\nos._exit(0)\ndef test_a", "can end or replace the test run: `os._exit`"),
        ("def test_b", "def test_c", ""),
        ("== 2", "== 3", ""),
    ],
)
def test_what_was_taken_away_is_named(old: str, new: str, reason: str) -> None:
    assert describe_weakening("python", PYTHON, PYTHON.replace(old, new)) == reason


@pytest.mark.parametrize(
    ("language", "text", "dangerous"),
    [
        ("python", "import os\nos._exit(0)\n", True),
        ("python", "def pytest_sessionfinish(session): session.exitstatus = 0\n", True),
        ("python", "import sys\nsys.modules['calc'] = None\n", True),
        ("python", "def test_exit():\n    with pytest.raises(SystemExit):\n        main()\n", False),
        ("python", "# os._exit(0)\ndef test_a():\n    assert 1\n", False),
        ("javascript", "process.exit(0)\n", True),
        ("javascript", "jest.mock('./a')\nit('x', () => {})\n", False),
        ("go", "func TestMain(m *testing.M) { os.Exit(0) }\n", True),
        ("unknown", "exit\n", False),
    ],
)
def test_a_new_test_that_could_end_the_others_is_dangerous(language: str, text: str, dangerous: bool) -> None:
    assert bool(describe_danger(language, text)) is dangerous


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_skip_that_was_there_before_is_no_news(language: str) -> None:
    old, new = SKIPS[language]
    skipped = LANGUAGES[language].replace(old, new, 1)
    assert describe_weakening(language, skipped, f"{skipped}\n") == ""


@pytest.mark.parametrize(("language", "reason"), [("go", "excluded by a build tag"), ("c", "")])
def test_a_build_tag_keeps_a_file_of_go_from_being_built(language: str, reason: str) -> None:
    text = LANGUAGES[language]
    assert describe_weakening(language, text, f"//go:build never\n{text}") == reason
    assert describe_weakening(language, f"//go:build linux\n{text}", f"//go:build linux\n{text}") == ""


RUST = "fn f<'a>(x: &'a str) { g(\"'\") } "


@pytest.mark.parametrize(
    ("language", "text", "code", "with_strings"),
    [
        ("python", 'a = "#1"  # one\nb', 'a = ""  \nb', 'a = "#1"  \nb'),
        ("python", '"""two\nlines"""\nb', '"""\n"""\nb', '"""two\nlines"""\nb'),
        ("python", "'''x'''", "''" * 3, "'''x'''"),
        ("javascript", "/* two\nlines */ f('//', `\n`)", "\n f('', `\n`)", "\n f('//', `\n`)"),
        ("rust", f"{RUST}// '", RUST.replace('"\'"', '""'), RUST),
        ("shell", 'echo "#a" # b', 'echo "#a" ', 'echo "#a" '),
    ],
)
def test_comments_go_strings_are_emptied_and_lines_stay(language: str, text: str, code: str, with_strings: str) -> None:
    assert strip_comments(language, text) == code
    assert strip_comment_text(language, text) == with_strings


@given(st.sampled_from([*MARKS, "unknown"]), st.text(max_size=80), st.text(max_size=80))
def test_any_texts_can_be_compared(language: str, old: str, new: str) -> None:
    assert describe_weakening(language, old, old) == ""
    describe_weakening(language, old, new)
