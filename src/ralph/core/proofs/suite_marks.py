"""How languages write tests, assertions and skips, as patterns over code without comments."""

from collections.abc import Mapping

from msgspec import Struct

_NOTHING = r"(?!)"
_SLASH_COMMENTS = r"//[^\n]*|/\*.*?\*/"
_HASH_COMMENTS = r"#[^\n]*"


class SuiteMarks(Struct, frozen=True, kw_only=True):
    """Of one language."""

    tests: str
    assertions: str
    skips: str = _NOTHING
    focus: str = _NOTHING  # only these are run
    endings: str = _NOTHING  # ends or replaces the runner
    comments: str = _SLASH_COMMENTS


def _join(*patterns: str) -> str:
    return "|".join(patterns)


_PYTHON = SuiteMarks(
    tests=r"^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*",
    assertions=_join(r"\bassert\b", r"\.assert\w+", r"\bpytest\.(?:raises|warns|fail|approx)\b", r"\.fail\("),
    skips=_join(
        r"\bskip(?:if|If|Unless|Test)?\b",
        r"\bxfail\b",
        r"\bSkipTest\b",
        r"\bimportorskip\b",
        r"\bexpectedFailure\b",
        r"\b__test__\b",
        r"\bcollect_ignore\w*",
        r"\bpytest_(?:collect\w*|ignore_\w+|itemcollected|deselected|generate_tests)\b",
    ),
    endings=_join(
        r"\bos\._exit\b",
        r"\bsys\.exit\b",
        r"\b(?:quit|exit)\(",
        r"\braise[ \t]+SystemExit\b",
        r"\bpytest\.exit\b",
        r"\bos\.(?:abort|kill|exec\w+)\b",
        r"\batexit\b",
        r"\bsys\.(?:modules\[|modules\.(?:update|setdefault|__setitem__)|settrace\b|meta_path\b|excepthook\b)",
        r"(?<![.\w])exec\(",
        r"\bvars\(\w+\)(?:\.update|\[)",
        r"\b_pytest\b",
        r"\b__builtins__\b",
        r"\bbuiltins\.\w+[ \t]*=",
        r"\bload_tests\b",
        r"\bunittest\.\w+(?:\.\w+)+[ \t]*=[^=]",
        r"\bTestCase\.\w+[ \t]*=[^=]",
        r"\bpytest_(?:runtest|session|cmdline|report|exception|assertrepr|make|plugin|load|terminal)\w*",
        r"\bpytest_(?:pyfunc_call|configure|unconfigure|addoption|addhooks|fixture_setup)\b",
    ),
    comments=_HASH_COMMENTS,
)
_JAVASCRIPT = SuiteMarks(
    tests=r"(?<![.\w])(?:it|test)(?:\.\w+)*[ \t]*[(`]",
    assertions=_join(
        r"\bexpect(?:\.\w+)*[ \t]*\(",
        r"\bassert\b",
        r"\.should\b",
        r"\bt\.(?:is|not|deepEqual|like|true|truthy|false|falsy|throws\w*|equal\w*|same|match|ok)\(",
    ),
    skips=_join(
        r"\b(?:it|test|describe|context|suite)(?:\.\w+)*\.(?:skip|todo|fixme|failing|fails|skipIf|runIf)\b",
        r"(?<![.\w])x(?:it|test|describe|context|specify)[ \t]*\(",
        r"\b(?:this|t|ctx)\.skip\b",
        r"\{[ \t]*(?:skip|todo)[ \t]*:",
    ),
    focus=_join(
        r"\b(?:it|test|describe|context|suite)(?:\.\w+)*\.only\b", r"(?<![.\w])f(?:it|describe|context)[ \t]*\("
    ),
    endings=_join(
        r"\bprocess\.(?:exit|abort|kill|reallyExit|exitCode|_\w+)\b",
        r"\bDeno\.exit\b",
        r"\bglobal(?:This)?\.(?:it|test|describe|expect|assert)[ \t]*=",
        r"\bObject\.is[ \t]*=",
        r"\bassert\.\w+[ \t]*=[^=]",
        r"\brequire\.cache\[[^\n]*\][ \t]*=[^=]",
    ),
)
_GO = SuiteMarks(
    tests=r"^func[ \t]+(?:Test|Fuzz|Example)\w*[ \t]*\(",
    assertions=_join(
        r"\b\w+\.(?:Errorf?|Fatalf?|Fail(?:Now)?)\(", r"\b(?:assert|require|is|expect|must|qt|cmp)\.\w+\("
    ),
    skips=_join(r"\b\w+\.Skip(?:f|Now)?\(", r"\btesting\.Short\("),
    endings=_join(
        r"\bos\.Exit\b", r"\bsyscall\.(?:Exit|Kill|Exec)\b", r"\bfunc[ \t]+TestMain\b", r"\bruntime\.Goexit\b"
    ),
)
_RUST = SuiteMarks(
    tests=r"#\[(?:\w+::)*(?:test|rstest|test_case|proptest|quickcheck|wasm_bindgen_test)\b[^\]]*\]",
    assertions=_join(r"\b(?:debug_|prop_)?assert\w*!", r"\bpanic!", r"\bunreachable!", r"#\[should_panic"),
    skips=_join(r"#\[(?:cfg_attr\([^)]*,[ \t]*)?ignore\b", r"#!?\[cfg\((?!test\))"),
    endings=_join(r"\bprocess::(?:exit|abort)\b", r"\blibc::(?:_?exit|abort)\b"),
)
_JAVA = SuiteMarks(
    tests=_join(r"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|Property)\b", r"\bfun[ \t]+test\w*", r"\btest\("),
    assertions=_join(
        *(r"\bassert\w*[ \t]*[({]", r"\bfail\(", r"\bverify\w*\(", r"\bshould\w*\b", r"\bexpect\w*\(", r"\bmust\w*\b")
    ),
    skips=_join(
        r"@(?:Disabled\w*|Ignore|Enabled\w+)\b",
        r"\bassum\w+[ \t]*\(",
        r"\benabled[ \t]*=[ \t]*false\b",
        r"\bpending\b",
        r"\bignore\(",
    ),
    endings=_join(r"\bSystem\.exit\b", r"\bhalt\(", r"\bexitProcess\(", r"\bsys\.exit\("),
)
_RUBY = SuiteMarks(
    tests=_join(r"\b(?:it|specify|scenario|example|test)[ \t]+[\"'{d]", r"\bdef[ \t]+test_\w+"),
    assertions=_join(
        *(r"\bexpect\b", r"\bassert\w*\b", r"\brefute\w*\b", r"\.should\w*\b", r"\bmust_\w+", r"\bwont_\w+")
    ),
    skips=r"\b(?:xit|xspecify|xdescribe|xcontext|xscenario|pending|skip)\b",
    focus=_join(r"\b(?:fit|fspecify|fdescribe|fcontext|fscenario)\b", r"\bfocus:[ \t]*true", r":focus\b"),
    endings=_join(r"\bexit!?(?:\b|\()", r"\babort\b", r"\bat_exit\b", r"\bProcess\.(?:exit|kill)\b"),
    comments=_HASH_COMMENTS,
)
_PHP = SuiteMarks(
    tests=_join(r"\bfunction[ \t]+test\w*", r"@test\b", r"#\[(?:\\?\w+\\)*Test\]", r"(?<![>:\w])(?:it|test)\("),
    assertions=_join(r"(?:->|::)assert\w+\(", r"\bexpect\w*\("),
    skips=_join(r"\bmarkTest(?:Skipped|Incomplete)\w*", r"->(?:skip|todo)\(", r"#\[(?:\\?\w+\\)*(?:Requires|Group)\w*"),
    focus=r"->only\(",
    endings=_join(r"\bexit\b", r"\bdie\b", r"\bregister_shutdown_function\b"),
)
_CSHARP = SuiteMarks(
    tests=r"\[(?:\w+\()?(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod|Property)\b",
    assertions=_join(r"\bAssert\b", r"\.Should\w*\(", r"\bVerify\w*\("),
    skips=_join(
        r"\bSkip\w*[ \t]*=",
        r"\[(?:Ignore|Explicit)\b",
        r"\bAssert\.(?:Ignore|Inconclusive|Skip\w*)\b",
        r"^[ \t]*#if\b",
    ),
    endings=r"\bEnvironment\.(?:Exit|FailFast)\b",
)
_ELIXIR = SuiteMarks(
    tests=r"^[ \t]*(?:test|property|doctest)\b",
    assertions=_join(r"\bassert\w*\b", r"\brefute\w*\b", r"\bflunk\b"),
    skips=_join(r"@(?:module|describe)?tag\b", r"\bExUnit\.configure\b"),
    endings=r"\bSystem\.(?:halt|stop)\b",
    comments=_HASH_COMMENTS,
)
_SWIFT = SuiteMarks(
    tests=_join(r"\bfunc[ \t]+test\w*", r"@Test\b"),
    assertions=_join(r"\bXCTAssert\w*", r"\bXCTFail\b", r"#expect\b", r"#require\b", r"\bexpect\("),
    skips=_join(r"\bXCTSkip\w*", r"\.disabled\b", r"^[ \t]*#if\b", r"\bwithKnownIssue\b"),
    endings=_join(r"\bexit\(", r"\babort\("),
)
_C = SuiteMarks(
    tests=_join(r"\bTEST\w*[ \t]*\(", r"\bSCENARIO[ \t]*\(", r"\bvoid[ \t]+test\w*", r"\bint[ \t]+test\w*"),
    assertions=_join(
        r"\b(?:TEST_)?(?:ASSERT|EXPECT|CHECK|REQUIRE|FAIL|VERIFY)\w*[ \t]*\(", r"\bassert\w*[ \t]*\(", r"\bck_assert\w*"
    ),
    skips=_join(r"\bGTEST_SKIP\b", r"\bDISABLED_", r"\bTEST_IGNORE\w*", r"^[ \t]*#[ \t]*if\b", r"\bSKIP\("),
    endings=_join(
        r"\b_?_?exit[ \t]*\(",
        r"\babort[ \t]*\(",
        r"\batexit\b",
        r"#[ \t]*(?:define|undef)[ \t]+\w*(?:assert|ASSERT|CHECK|NDEBUG)",
    ),
)
_DART = SuiteMarks(
    tests=r"(?<![.\w])(?:test|testWidgets|blocTest)[ \t]*[(<]",
    assertions=_join(r"\bexpect\w*\(", r"\bverify\w*\(", r"\bfail\("),
    skips=_join(r"\bskip[ \t]*:", r"@Skip\b", r"\bmarkTestSkipped\b"),
    focus=_join(r"\bsolo[ \t]*:", r"\bsolo_\w+"),
    endings=r"(?<![.\w])exit\(",
)
_SHELL = SuiteMarks(
    tests=_join(r"^[ \t]*@test\b", r"^[ \t]*(?:function[ \t]+)?test\w*[ \t]*\(\)"),
    assertions=_join(
        *(r"\[\[?[ \t]", r"\bassert\w*\b", r"\btest[ \t]", r"\brefute\w*\b", r"\b(?:diff|cmp|grep|fail)\b"),
        r"\bexit[ \t]+[1-9]",
    ),
    skips=_join(r"\bskip\b", r"\|\|[ \t]*(?:true|:)(?:\s|$)", r"\bset[ \t]+\+e\b"),
    endings=_join(r"\bexit(?:[ \t]+0)?[ \t]*(?:$|;|&)", r"\btrap\b"),
    comments=r"(?:(?<=\s)|^)#[^\n]*",
)
_GHERKIN = SuiteMarks(
    tests=r"^[ \t]*(?:Scenario(?: Outline)?|Example)s?:",
    assertions=r"^[ \t]*(?:Then|And|But)\b",
    skips=r"@(?:skip|ignore|wip|pending|disabled)\b",
    focus=r"@(?:only|focus)\b",
    comments=r"^[ \t]*#[^\n]*",
)

OTHER_MARKS = SuiteMarks(
    tests=r"(?i:\btest\w*\b)",
    assertions=r"(?i:\bassert\w*|\bexpect\w*|\bshould\w*|\bcheck\w*)",
    skips=r"(?i:\b(?:skip|ignore|disable|pending|xfail)\w*\b)",
    endings=r"\bexit\b",
)
MARKS: Mapping[str, SuiteMarks] = {
    "python": _PYTHON,
    "javascript": _JAVASCRIPT,
    "go": _GO,
    "rust": _RUST,
    "java": _JAVA,
    "ruby": _RUBY,
    "php": _PHP,
    "csharp": _CSHARP,
    "elixir": _ELIXIR,
    "swift": _SWIFT,
    "c": _C,
    "dart": _DART,
    "shell": _SHELL,
    "gherkin": _GHERKIN,
}
