"""Which files are tests, by the conventions of their languages."""

import re

DATA = "data"  # what tests read: expected output, fixtures, snapshots

_LANGUAGES = {
    "py": "python",
    **dict.fromkeys(("js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte"), "javascript"),
    "go": "go",
    "rs": "rust",
    **dict.fromkeys(("java", "kt", "kts", "scala", "groovy"), "java"),
    "rb": "ruby",
    "php": "php",
    **dict.fromkeys(("cs", "fs", "vb"), "csharp"),
    **dict.fromkeys(("ex", "exs"), "elixir"),
    "swift": "swift",
    **dict.fromkeys(("c", "cc", "cpp", "cxx", "h", "hpp", "m", "mm"), "c"),
    "dart": "dart",
    **dict.fromkeys(("bats", "sh", "bash"), "shell"),
    "lua": "lua",
    "hs": "haskell",
    **dict.fromkeys(("clj", "cljs", "cljc"), "clojure"),
    "feature": "gherkin",
    "robot": "robot",
    "zig": "zig",
    "erl": "erlang",
    "t": "perl",
    "r": "r",
    "jl": "julia",
}
_TEST_NAMES = {
    "python": re.compile(r"test_.*|.*_tests?|tests?|conftest"),
    "javascript": re.compile(r".*[._-](test|spec|cy|e2e)"),
    "go": re.compile(r".*_test"),
    "rust": re.compile(r"tests?|.*_tests?"),
    "java": re.compile(r"Test[A-Z]\w*|\w*(Tests?|IT|Spec|TestCase)"),
    "ruby": re.compile(r".*_(spec|test)|test_.*|spec_helper|rails_helper|test_helper"),
    "php": re.compile(r".*Test|Pest"),
    "csharp": re.compile(r".*Tests?"),
    "elixir": re.compile(r".*_test|test_helper"),
    "swift": re.compile(r".*Tests?"),
    "c": re.compile(r"(?i)tests?|test[_-].*|.*[_-](unit)?tests?"),
    "dart": re.compile(r".*_test"),
    "shell": re.compile(r"(?i)tests?|test[_-].*|.*[_-]tests?"),
    "lua": re.compile(r".*_spec|test_.*"),
    "haskell": re.compile(r".*Spec|Spec"),
    "clojure": re.compile(r".*_test"),
    "erlang": re.compile(r".*_(SUITE|tests?)"),
    "perl": re.compile(r".*"),
    "r": re.compile(r"test[-_.].*"),
    "gherkin": re.compile(r".*"),
    "robot": re.compile(r".*"),
}
_TEST_FOLDERS = frozenset(
    "tests test __tests__ testdata test_data test-data __snapshots__ __mocks__ __fixtures__ e2e Tests UnitTests".split()
)
_SPEC_FOLDERS = frozenset(("spec", "specs", "features"))  # of documents as often as of tests
_SPEC_LANGUAGES = frozenset(("ruby", "javascript", "gherkin", "lua"))
_NO_TESTS = re.compile(r"(?i)(readme|changelog|license|todo)(\..*)?|\.git(ignore|keep|attributes)|.*\.(pyc|log)")
_CHECK_NAME = re.compile(
    r"(?i)(^|[/_.-])(run[_-]?)?(tests?|check(s|er)?|verif(y|ier|ication)|validat(e|or|ion)|lint(er)?|ci|specs?|"
    r"assert(ions?)?|guard(rails?)?|gate|accept(ance)?|e2e|smoke|integration|bench(mark)?s?|grade(r)?|judge|qa|"
    r"scripts?|tools?|hack|bin|dev)([/_.-]|$)"
)
_GOLDEN_NAME = re.compile(
    r"(?i)(^|[/_.-])(expect(ed|ations?)?|golden|reference|snapshots?|baseline|fixtures?|approved|want(ed)?)([/_.-]|$)"
)


def detect_language(path: str) -> str:
    """By the name's ending; empty where that says nothing."""
    name = path.rpartition("/")[2]
    _, dot, ending = name.rpartition(".")
    return _LANGUAGES.get(ending.lower(), "") if dot else ""


def detect_test(path: str) -> str:
    """The language of a test file, `data` for what lies beside tests; empty: it is no test."""
    *folders, name = path.split("/")
    if _NO_TESTS.fullmatch(name) or "node_modules" in folders:
        return ""
    language = detect_language(path)
    stem = name.partition(".")[0] if language == "gherkin" else name.rpartition(".")[0]
    if language in _TEST_NAMES and _TEST_NAMES[language].fullmatch(stem):
        return language
    if any(folder in _TEST_FOLDERS or folder.endswith((".Tests", "Tests.")) for folder in folders):
        return language or DATA
    if language in _SPEC_LANGUAGES and not _SPEC_FOLDERS.isdisjoint(folders):
        return language
    return DATA if name.endswith(".snap") else ""


def is_check_name(path: str) -> bool:
    """Whether a script is called like something that checks, or lies where such scripts lie."""
    return bool(_CHECK_NAME.search(path))


def is_golden_name(path: str) -> bool:
    """Whether a file is called like what a result is compared with."""
    return bool(_GOLDEN_NAME.search(path)) or bool(detect_test(path))
