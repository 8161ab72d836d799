"""Which part of a configuration a check rests on: tests may not be steered, a dependency may be added."""

import pytest

from ralph.core.proofs.config_parts import extract_config_part, read_package_scripts

GRADLE = """\
plugins { id 'java' }
dependencies {
  testImplementation('junit') { transitive = false }
}
// how to test
tasks.test { useJUnitPlatform() }
"""
POM = """\
<project>
  <!-- ours -->
  <version>1</version>
  <properties><java.version>17</java.version><skipTests>false</skipTests></properties>
  <dependencies><dependency>a</dependency></dependencies>
  <build><plugin>surefire</plugin></build>
</project>
"""
GO_MOD = "module x\n\ngo 1.22\n\nrequire (\n\ta v1 // indirect\n)\nrequire b v1\n"
CSPROJ = '<Project>\n<PackageReference Include="a" />\n<IsTestProject>true</IsTestProject>\n</Project>'
CARGO = "[package]\nname = 'x'\nversion = '1'\n[dependencies]\na = '1'\n[lib]\ntest = true\n"
TOX = "[tox]\nenvlist = py\n\n[testenv]\n# how to test\ncommands = pytest\n[flake8]\nmax = 9\n"
COMPOSER = '{"scripts": {"test": "phpunit"}, "require": {"a": "1"}}'


@pytest.mark.parametrize(
    ("path", "text", "old", "new"),
    [
        ("build.gradle", GRADLE, "useJUnitPlatform()", "enabled = false"),
        ("settings.gradle.kts", GRADLE, "tasks.test", "tasks.other"),
        ("pom.xml", POM, "<skipTests>false", "<skipTests>true"),
        ("pom.xml", POM, "surefire", "none"),
        ("go.mod", GO_MOD, "module x", "module y"),
        ("go.mod", GO_MOD, "require b v1", "replace b => ./fake"),
        ("a/Calc.csproj", CSPROJ, "true", "false"),
        ("Cargo.toml", CARGO, "test = true", "test = false"),
        ("Cargo.toml", CARGO, "version = '1'", "autotests = false"),
        ("tox.ini", TOX, "commands = pytest", "commands = true"),
        ("tox.ini", TOX, "# how to test\n", "deps = x\n"),
        ("composer.json", COMPOSER, "phpunit", "true"),
        ("unknown.toml", "a = 1\n", "1", "2"),
        ("Cargo.toml", "not [toml\n", "not", "nor"),
    ],
)
def test_what_steers_a_check_is_part_of_it(path: str, text: str, old: str, new: str) -> None:
    assert old in text
    changed = text.replace(old, new)
    assert extract_config_part(path, text, ["tox"]) != extract_config_part(path, changed, ["tox"])


@pytest.mark.parametrize(
    ("path", "text", "old", "new"),
    [
        ("build.gradle", GRADLE, "('junit') { transitive = false }", "('other') { x { y } }"),
        ("build.gradle", GRADLE, "// how to test", "/* in\nwords */"),
        ("build.gradle", GRADLE, "id 'java'", "id 'groovy'"),
        ("pom.xml", POM, "<dependency>a</dependency>", "<dependency>b</dependency>"),
        ("pom.xml", POM, "<version>1</version>", "<version>2</version>"),
        ("pom.xml", POM, "17", "21"),
        ("pom.xml", POM, "<!-- ours -->", ""),
        ("go.mod", GO_MOD, "a v1 // indirect", "a v2"),
        ("go.work", GO_MOD, "require b v1", "require b v2"),
        ("go.mod", GO_MOD, "go 1.22", "go 1.23"),
        ("Calc.fsproj", CSPROJ, 'Include="a"', 'Include="b"'),
        ("Cargo.toml", CARGO, "a = '1'", "a = '2'\nb = '1'"),
        ("Cargo.toml", CARGO, "version = '1'", "version = '2'"),
        ("setup.cfg", TOX, "max = 9", "max = 8"),
        ("tox.ini", TOX, "# how to test", "; in words"),
        ("tox.ini", TOX, "\n\n[testenv]", "\n[testenv]\n\n"),
        ("composer.json", COMPOSER, '"a": "1"', '"a": "2"'),
    ],
)
def test_what_does_not_is_none(path: str, text: str, old: str, new: str) -> None:
    assert old in text
    changed = text.replace(old, new)
    assert extract_config_part(path, text, ["tox"]) == extract_config_part(path, changed, ["tox"])


def test_blocks_of_a_build_script_end_where_their_braces_do() -> None:
    nested = "buildscript {\n  dependencies { a }\n}\ndependencies {\n  b\n}\ntest { c }\n"
    assert extract_config_part("build.gradle", nested, ()) == ["test", "{", "c", "}"]
    assert extract_config_part("build.gradle", "test { a }\ndependencies {\n  b {\n", ()) == ["test", "{", "a", "}"]


@pytest.mark.parametrize(
    ("text", "scripts"),
    [('{"scripts": {"test": "jest", "odd": 7}}', {"test": "jest"}), ('{"scripts": []}', {}), ("[]", {}), ("{", {})],
)
def test_scripts_of_a_package_are_those_that_are_lines(text: str, scripts: dict[str, str]) -> None:
    assert read_package_scripts(text) == scripts
