"""How each language writes tests, assertions and skips: what weakens a suite is seen in all of them."""

import pytest

from ralph.core.proofs.suite_marks import MARKS
from ralph.core.proofs.weakening import count_tests, describe_danger, describe_weakening

SUITES = {  # one test with two assertions
    "python": "def test_a():\n    assert f(1)\n    assert f(2)\n",
    "javascript": "it('a', () => {\n  expect(1).toBe(1)\n  expect(2).toBe(2)\n})\n",
    "go": "func TestA(t *testing.T) {\n\tt.Error(1)\n\tt.Fatal(2)\n}\n",
    "rust": "#[test]\nfn a() {\n  assert!(f(1));\n  assert_eq!(f(2), 2);\n}\n",
    "java": "@Test\nvoid a() {\n  assertTrue(f(1));\n  assertEquals(2, f(2));\n}\n",
    "ruby": "it 'a' do\n  expect(f(1)).to eq(1)\n  expect(f(2)).to eq(2)\nend\n",
    "php": "public function testA() {\n  $this->assertTrue(f(1));\n  self::assertSame(2, f(2));\n}\n",
    "csharp": "[Fact]\npublic void A() {\n  Assert.True(F(1));\n  F(2).Should().Be(2);\n}\n",
    "elixir": 'test "a" do\n  assert f(1)\n  refute f(2)\nend\n',
    "swift": "func testA() {\n  XCTAssertTrue(f(1))\n  #expect(f(2))\n}\n",
    "c": "TEST(Suite, A) {\n  EXPECT_EQ(f(1), 1);\n  ASSERT_TRUE(f(2));\n}\n",
    "dart": "test('a', () {\n  expect(f(1), 1);\n  verify(f(2));\n});\n",
    "shell": '@test "a" {\n  [ "$x" = 1 ]\n  grep -q b out\n}\n',
    "gherkin": "Scenario: a\n  Given x\n  Then y\n  And z\n",
    "cobol": "test a\n  assert f(1)\n  assert f(2)\n",  # of which nobody knows more
}
SKIPS = {
    "python": "@pytest.mark.skip\n",
    "javascript": "xit('b')\n",
    "go": "t.Skip()\n",
    "rust": "#[ignore]\n",
    "java": "@Disabled\n",
    "ruby": "pending\n",
    "php": "$this->markTestSkipped();\n",
    "csharp": "[Ignore]\n",
    "elixir": "@tag :skip\n",
    "swift": "throw XCTSkip()\n",
    "c": "GTEST_SKIP();\n",
    "dart": "skip: true\n",
    "shell": "skip\n",
    "gherkin": "@skip\n",
    "cobol": "skip\n",
}
FOCUSES = {"javascript": "it.only('b')\n", "php": "->only()\n", "dart": "solo: true\n", "gherkin": "@only\n"}
ENDINGS = {
    "python": "os._exit(0)\n",
    "javascript": "process.exit(0)\n",
    "go": "os.Exit(0)\n",
    "rust": "std::process::exit(0);\n",
    "java": "System.exit(0);\n",
    "ruby": "exit!\n",
    "php": "exit;\n",
    "csharp": "Environment.Exit(0);\n",
    "elixir": "System.halt(0)\n",
    "swift": "exit(0)\n",
    "c": "exit(0);\n",
    "dart": "exit(0);\n",
    "shell": "exit 0\n",
}


def test_every_language_has_an_example() -> None:
    assert {*SUITES} == {*SKIPS} == {*MARKS, "cobol"}


@pytest.mark.parametrize("language", SUITES)
def test_a_suite_that_stays_as_it_is_is_not_weaker_and_one_without_its_test_is(language: str) -> None:
    suite = SUITES[language]
    assert (count_tests(language, suite), describe_weakening(language, suite, suite)) == (1, "")
    assert "1 test removed" in describe_weakening(language, suite, "\n")


@pytest.mark.parametrize("language", SUITES)
@pytest.mark.parametrize("line", [1, 2])
def test_each_assertion_counts(language: str, line: int) -> None:
    lines = SUITES[language].splitlines(keepends=True)
    at = len([each for each in lines if not each.startswith(("}", "end"))]) - line
    left = "".join(lines[:at] + lines[at + 1 :])
    assert describe_weakening(language, SUITES[language], left) == "1 assertion removed"


@pytest.mark.parametrize(("language", "skip"), SKIPS.items())
def test_a_skip_is_seen(language: str, skip: str) -> None:
    suite = SUITES[language]
    assert describe_weakening(language, suite, f"{suite}{skip}").startswith("marked skip")


@pytest.mark.parametrize(("language", "focus"), FOCUSES.items())
def test_a_suite_narrowed_to_a_few_is_seen(language: str, focus: str) -> None:
    suite = SUITES[language]
    assert "narrowed to a few tests" in describe_weakening(language, suite, f"{suite}{focus}")


@pytest.mark.parametrize(("language", "ending"), ENDINGS.items())
def test_what_ends_the_run_is_seen_in_old_tests_and_in_new_ones(language: str, ending: str) -> None:
    suite = SUITES[language]
    assert "can end or replace the test run" in describe_weakening(language, suite, f"{suite}{ending}")
    assert "can end or replace the test run" in describe_danger(language, ending)


@pytest.mark.parametrize(("language", "skip"), SKIPS.items())
def test_what_stands_in_a_comment_is_none(language: str, skip: str) -> None:
    mark = "#" if language in ("python", "ruby", "elixir", "shell", "gherkin") else "//"
    suite = SUITES[language]
    assert describe_weakening(language, suite, f"{suite}{mark} {skip}") == ""
