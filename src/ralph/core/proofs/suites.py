"""Which files are tests, by the conventions of their languages."""

import re

PIPELINE = "pipeline"  # what a CI service runs
TEST_DATA = "data"  # what tests read: expected output, fixtures, snapshots

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
    "python": r"test_.*|.*_tests?|tests?|conftest",
    "javascript": r".*[._-](test|spec|cy|e2e)",
    "go": r".*_test",
    "rust": r"tests?|.*_tests?",
    "java": r"Test[A-Z]\w*|\w*(Tests?|IT|Spec|TestCase)",
    "ruby": r".*_(spec|test)|test_.*|spec_helper|rails_helper|test_helper",
    "php": r".*Test|Pest",
    "csharp": r".*Tests?",
    "elixir": r".*_test|test_helper",
    "swift": r".*Tests?",
    "c": r"(?i)tests?|test[_-].*|.*[_-](unit)?tests?",
    "dart": r".*_test",
    "shell": r"(?i)tests?|test[_-].*|.*[_-]tests?",
    "lua": r".*_spec|test_.*",
    "haskell": r".*Spec|Spec",
    "clojure": r".*_test",
    "erlang": r".*_(SUITE|tests?)",
    "perl": r".*",
    "r": r"test[-_.].*",
    "gherkin": r".*",
    "robot": r".*",
}
_TEST_FOLDERS = frozenset(
    "tests test __tests__ testdata test_data test-data __snapshots__ __mocks__ __fixtures__ e2e Tests UnitTests".split()
)
_SPEC_FOLDERS = frozenset(("spec", "specs", "features"))  # of documents as often as of tests
_SPEC_LANGUAGES = frozenset(("ruby", "javascript", "gherkin", "lua"))
_NO_TESTS = r"(?i)(readme|changelog|license|todo)(\..*)?|\.git(ignore|keep|attributes)|.*\.(pyc|log)"
_CHECK_NAME = (
    r"(?i)(^|[/_.-])(run[_-]?)?(tests?|check(s|er)?|verif(y|ier|ication)|validat(e|or|ion)|lint(er)?|ci|specs?|"
    r"assert(ions?)?|guard(rails?)?|gate|accept(ance)?|e2e|smoke|integration|bench(mark)?s?|grade(r)?|judge|qa|"
    r"scripts?|tools?|hack|bin|dev)([/_.-]|$)"
)
_PIPELINE_NAMES = (
    r"\.(?:github|gitea|forgejo)/(?:workflows|actions)/.*\.ya?ml|\.gitlab-ci\.yml|\.gitlab/.*\.yml|\.circleci/.*\.ya?ml"
    r"|azure-pipelines.*\.ya?ml|bitbucket-pipelines\.yml|\.travis\.yml|\.drone\.yml|\.buildkite/.*|Jenkinsfile|\.woodpecker.*"
)
_GOLDEN_NAME = (
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
    if re.fullmatch(_NO_TESTS, name) or "node_modules" in folders:
        return ""
    language = detect_language(path)
    stem = name.partition(".")[0] if language == "gherkin" else name.rpartition(".")[0]
    if language in _TEST_NAMES and re.fullmatch(_TEST_NAMES[language], stem):
        return language
    if any(folder in _TEST_FOLDERS or folder.endswith((".Tests", "Tests.")) for folder in folders):
        return language or TEST_DATA
    if language in _SPEC_LANGUAGES and not _SPEC_FOLDERS.isdisjoint(folders):
        return language
    return TEST_DATA if name.endswith(".snap") else ""


def detect_pipeline(path: str) -> str:
    """`pipeline` for a file that tells a CI service what to run; empty: it is none."""
    return PIPELINE if re.fullmatch(_PIPELINE_NAMES, path) else ""


def is_check_name(path: str) -> bool:
    """Whether a script is called like something that checks, or lies where such scripts lie."""
    return bool(re.search(_CHECK_NAME, path))


def is_golden_name(path: str) -> bool:
    """Whether a file is called like what a result is compared with."""
    return bool(re.search(_GOLDEN_NAME, path)) or bool(detect_test(path))
