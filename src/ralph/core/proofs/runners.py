"""The table of runners: which files configure each, whose tests it runs, which names would be taken for it."""

from collections.abc import Mapping

from msgspec import Struct

_PYTEST_FILES = (
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini"),
    *("setup.cfg", ".coveragerc"),
)
_JS_FILES = ("package.json", "babel.config.*", ".babelrc*", ".swcrc", ".npmrc", ".env.test")
_GRADLE_FILES = (
    *("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.properties"),
    *("gradlew", "gradlew.bat", "gradle/wrapper/*", "buildSrc/**", "init.gradle", "junit-platform.properties"),
    "testng.xml",
)
_MAVEN_FILES = ("pom.xml", ".mvn/**", "mvnw", "mvnw.cmd", "junit-platform.properties", "testng.xml")
_JVM = ("java",)
_PYTHON = ("python",)
_JS = ("javascript",)


class Runner(Struct, frozen=True):
    """What a program that judges work rests on. A pattern without a slash is looked for in every folder."""

    files: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # whose tests it runs; empty: none, it looks at code
    modules: tuple[str, ...] = ()  # Python modules that would be taken for it, or for parts of it


_PYTEST = Runner(_PYTEST_FILES, _PYTHON, ("pytest", "_pytest", "pluggy", "iniconfig", "py", "xdist", "pytest_cov"))
_GRADLE = Runner(_GRADLE_FILES, _JVM)
_MAVEN = Runner(_MAVEN_FILES, _JVM)
_RAILS = Runner(("Rakefile", "*.rake", "config/environments/test.rb", ".rspec", ".rubocop.yml"), ("ruby",))
_VITEST_FILES = ("vitest.config.*", "vitest.workspace.*", "vitest.setup.*", "vite.config.*")

RUNNERS: Mapping[str, Runner] = {
    # Python
    "pytest": _PYTEST,
    "py": _PYTEST,
    "unittest": Runner((".coveragerc",), _PYTHON, ("unittest",)),
    "doctest": Runner((), _PYTHON, ("doctest",)),
    "nose2": Runner(("nose2.cfg", "unittest.cfg", "setup.cfg"), _PYTHON, ("nose2", "unittest")),
    "trial": Runner((), _PYTHON, ("twisted",)),
    "ward": Runner(("pyproject.toml",), _PYTHON, ("ward",)),
    "django": Runner(("manage.py", *_PYTEST_FILES), _PYTHON, ("django", "unittest")),
    "stestr": Runner((".stestr.conf",), _PYTHON),
    "tox": Runner(_PYTEST_FILES, _PYTHON, ("tox", *_PYTEST.modules)),
    "nox": Runner(("noxfile.py", *_PYTEST_FILES), _PYTHON, ("nox", *_PYTEST.modules)),
    "hatch": Runner(("hatch.toml", *_PYTEST_FILES), _PYTHON, _PYTEST.modules),
    "poe": Runner(_PYTEST_FILES, _PYTHON, _PYTEST.modules),
    "pdm": Runner(_PYTEST_FILES, _PYTHON, _PYTEST.modules),
    "invoke": Runner(("tasks.py", "invoke.yaml", *_PYTEST_FILES), _PYTHON, ("invoke", *_PYTEST.modules)),
    "inv": Runner(("tasks.py", "invoke.yaml", *_PYTEST_FILES), _PYTHON, ("invoke", *_PYTEST.modules)),
    "doit": Runner(("dodo.py", *_PYTEST_FILES), _PYTHON, ("doit",)),
    "behave": Runner(("behave.ini", ".behaverc", "environment.py"), ("python", "gherkin"), ("behave",)),
    "robot": Runner(("robot.toml",), ("robot", "python"), ("robot",)),
    "coverage": Runner((".coveragerc", "pyproject.toml", "setup.cfg", "tox.ini"), (), ("coverage",)),
    "ruff": Runner(("ruff.toml", ".ruff.toml", "pyproject.toml", ".gitignore", ".ignore"), (), ("ruff",)),
    "mypy": Runner(("mypy.ini", ".mypy.ini", "setup.cfg", "pyproject.toml"), (), ("mypy",)),
    "dmypy": Runner(("mypy.ini", ".mypy.ini", "setup.cfg", "pyproject.toml"), (), ("mypy",)),
    "pyright": Runner(("pyrightconfig.json", "pyproject.toml")),
    "basedpyright": Runner(("pyrightconfig.json", "pyproject.toml")),
    "ty": Runner(("ty.toml", "pyproject.toml")),
    "pyrefly": Runner(("pyrefly.toml", "pyproject.toml")),
    "flake8": Runner((".flake8", "setup.cfg", "tox.ini"), (), ("flake8", "pyflakes", "pycodestyle")),
    "pylint": Runner((".pylintrc", "pylintrc", "pyproject.toml", "setup.cfg"), (), ("pylint", "astroid")),
    "black": Runner(("pyproject.toml", ".gitignore"), (), ("black",)),
    "isort": Runner((".isort.cfg", "pyproject.toml", "setup.cfg"), (), ("isort",)),
    "bandit": Runner((".bandit", "bandit.yaml", "pyproject.toml"), (), ("bandit",)),
    "lint-imports": Runner((".importlinter", "pyproject.toml", "setup.cfg")),
    "pre-commit": Runner((".pre-commit-config.yaml",)),
    # JavaScript
    "npm": Runner((".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.*")),
    "jest": Runner((*_JS_FILES, "jest.config.*", "jest.setup.*", "setupTests.*"), _JS),
    "react-scripts": Runner((*_JS_FILES, "setupTests.*"), _JS),
    "vitest": Runner((*_JS_FILES, *_VITEST_FILES), _JS),
    "mocha": Runner((*_JS_FILES, ".mocharc.*", "mocha.opts"), _JS),
    "ava": Runner((*_JS_FILES, "ava.config.*"), _JS),
    "tap": Runner((*_JS_FILES, ".taprc"), _JS),
    "tape": Runner(_JS_FILES, _JS),
    "uvu": Runner(_JS_FILES, _JS),
    "jasmine": Runner((*_JS_FILES, "jasmine.json", "jasmine.mjs"), _JS),
    "karma": Runner((*_JS_FILES, "karma.conf.*"), _JS),
    "cypress": Runner((*_JS_FILES, "cypress.config.*", "cypress.json"), _JS),
    "playwright": Runner((*_JS_FILES, "playwright.config.*"), _JS),
    "wtr": Runner((*_JS_FILES, "web-test-runner.config.*"), _JS),
    "node": Runner(("package.json",), _JS),
    "deno": Runner(("deno.json", "deno.jsonc"), _JS),
    "bun": Runner(("package.json", "bunfig.toml"), _JS),
    "nyc": Runner((".nycrc*", "nyc.config.*", "package.json")),
    "c8": Runner((".c8rc*", "package.json")),
    "ng": Runner(("angular.json", "karma.conf.*", *_JS_FILES), _JS),
    "nx": Runner(("nx.json", "project.json", *_JS_FILES, "jest.config.*", *_VITEST_FILES), _JS),
    "turbo": Runner(("turbo.json", *_JS_FILES, "jest.config.*", *_VITEST_FILES), _JS),
    "lerna": Runner(("lerna.json", *_JS_FILES, "jest.config.*", *_VITEST_FILES), _JS),
    "tsc": Runner(("tsconfig*.json",)),
    "vue-tsc": Runner(("tsconfig*.json",)),
    "eslint": Runner((".eslintrc*", "eslint.config.*", ".eslintignore", "package.json")),
    "prettier": Runner((".prettierrc*", "prettier.config.*", ".prettierignore", ".gitignore", "package.json")),
    "biome": Runner(("biome.json", "biome.jsonc", ".gitignore")),
    "oxlint": Runner((".oxlintrc.json",)),
    "stylelint": Runner((".stylelintrc*", "stylelint.config.*", "package.json")),
    # Rust, Go, JVM, .NET
    "cargo": Runner(
        (
            *("Cargo.toml", "build.rs", ".cargo/config.toml", ".cargo/config", ".config/nextest.toml"),
            *("clippy.toml", ".clippy.toml", "rust-toolchain", "rust-toolchain.toml"),
        ),
        ("rust",),
    ),
    "go": Runner(("go.mod", "go.work"), ("go",)),
    "gotestsum": Runner(("go.mod", "go.work"), ("go",)),
    "ginkgo": Runner(("go.mod", "go.work"), ("go",)),
    "golangci-lint": Runner((".golangci.*",)),
    "staticcheck": Runner(("staticcheck.conf",)),
    "gradle": _GRADLE,
    "gradlew": _GRADLE,
    "mvn": _MAVEN,
    "mvnd": _MAVEN,
    "mvnw": _MAVEN,
    "sbt": Runner(("build.sbt", "*.sbt", "project/*.scala", ".sbtopts"), _JVM),
    "mill": Runner(("build.sc", "build.mill"), _JVM),
    "ant": Runner(("build.xml",), _JVM),
    "lein": Runner(("project.clj", "profiles.clj"), ("clojure",)),
    "clojure": Runner(("deps.edn", "tests.edn"), ("clojure",)),
    "clj": Runner(("deps.edn", "tests.edn"), ("clojure",)),
    "dotnet": Runner(
        (
            *("*.csproj", "*.fsproj", "*.vbproj", "*.sln", "*.slnx", "Directory.Build.*", "*.runsettings"),
            *("xunit.runner.json", "global.json", "nuget.config", "testconfig.json"),
        ),
        ("csharp",),
    ),
    # Ruby, PHP, Elixir, C and others
    "rake": _RAILS,
    "rails": _RAILS,
    "rspec": Runner((".rspec", ".rspec-local", "spec_helper.rb", "rails_helper.rb"), ("ruby",)),
    "minitest": _RAILS,
    "cucumber": Runner(("cucumber.yml", "cucumber.js", "cucumber.json"), ("gherkin", "ruby", "javascript")),
    "rubocop": Runner((".rubocop.yml", ".rubocop_todo.yml")),
    "phpunit": Runner(("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml", "composer.json"), ("php",)),
    "pest": Runner(("phpunit.xml", "phpunit.xml.dist", "Pest.php", "composer.json"), ("php",)),
    "phpstan": Runner(("phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon", "phpstan-baseline.neon")),
    "psalm": Runner(("psalm.xml", "psalm.xml.dist")),
    "composer": Runner(("composer.json", "phpunit.xml", "phpunit.xml.dist"), ("php",)),
    "artisan": Runner(("artisan", "phpunit.xml", "phpunit.xml.dist"), ("php",)),
    "mix": Runner(("mix.exs", "test_helper.exs", ".formatter.exs", ".credo.exs", "config/test.exs"), ("elixir",)),
    "rebar3": Runner(("rebar.config",), ("erlang",)),
    "swift": Runner(("Package.swift",), ("swift",)),
    "xcodebuild": Runner(("*.xctestplan", "project.pbxproj", "*.xcscheme"), ("swift",)),
    "ctest": Runner(("CMakeLists.txt", "CTestTestfile.cmake", "*.cmake", "CMakePresets.json"), ("c",)),
    "cmake": Runner(("CMakeLists.txt", "*.cmake", "CMakePresets.json"), ("c",)),
    "meson": Runner(("meson.build", "meson_options.txt", "meson.options"), ("c",)),
    "ninja": Runner(("CMakeLists.txt", "meson.build"), ("c",)),
    "bazel": Runner(("BUILD", "BUILD.bazel", "WORKSPACE*", "MODULE.bazel", ".bazelrc"), ("any",)),
    "zig": Runner(("build.zig",), ("zig",)),
    "dart": Runner(("dart_test.yaml", "analysis_options.yaml"), ("dart",)),
    "flutter": Runner(("dart_test.yaml", "analysis_options.yaml", "flutter_test_config.dart"), ("dart",)),
    "stack": Runner(("stack.yaml", "package.yaml", "*.cabal"), ("haskell",)),
    "cabal": Runner(("cabal.project", "*.cabal"), ("haskell",)),
    "busted": Runner((".busted",), ("lua",)),
    "bats": Runner((), ("shell",)),
    "shellcheck": Runner((".shellcheckrc",)),
    "prove": Runner((".proverc",), ("perl",)),
    "Rscript": Runner((), ("r",)),
    "julia": Runner(("Project.toml",), ("julia",)),
    "task": Runner(("Taskfile.*", "taskfile.*"), ("any",)),
    "mage": Runner(("magefile.go", "magefiles/**"), ("go",)),
    "earthly": Runner(("Earthfile",), ("any",)),
    "dagger": Runner(("dagger.json",), ("any",)),
    "act": Runner((".github/workflows/**",), ("any",)),
    "tilt": Runner(("Tiltfile",), ("any",)),
    "docker": Runner(("Dockerfile*", "*compose*.y*ml"), ("any",)),
    "docker-compose": Runner(("Dockerfile*", "*compose*.y*ml"), ("any",)),
}

PACKAGE_RUNNERS = frozenset(("npm", "pnpm", "yarn", "bun"))  # what they run is in package.json
MAKE_RUNNERS = frozenset(("make", "gmake"))
# They look and compare; what they look at is the work.
LOOKING_COMMANDS = frozenset(
    "[ [[ test true false echo printf cat grep egrep fgrep rg ag head tail tee wc sort uniq cut tr sed awk ls stat find"
    " file jq yq xmllint curl wget sleep mkdir cp mv rm touch chmod ln set export unset source . exit return trap wait"
    " read shift local declare eval pwd which type kill date basename dirname realpath readlink git".split()
)
COMPARING_COMMANDS = frozenset(("diff", "cmp", "comm", "sha256sum", "md5sum", "sha1sum", "jq", "grep", "xmldiff"))
