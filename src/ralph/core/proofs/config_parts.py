"""Which part of a configuration file a check rests on: a dependency that was added changes no check."""

import re
from collections.abc import Collection, Mapping

import msgspec

_PYPROJECT_TABLES = {  # runner → its tables below [tool]
    "pytest": ("pytest", "coverage"),
    "py": ("pytest", "coverage"),
    "tox": ("tox", "pytest", "coverage"),
    "nox": ("pytest", "coverage"),
    "hatch": ("hatch", "pytest", "coverage"),
    "poe": ("poe", "pytest", "coverage"),
    "pdm": ("pdm", "pytest", "coverage"),
    "django": ("pytest", "coverage"),
    "invoke": ("pytest", "coverage"),
    "inv": ("pytest", "coverage"),
    "doit": ("doit", "pytest", "coverage"),
    "lint-imports": ("importlinter",),
    "dmypy": ("mypy",),
    "basedpyright": ("basedpyright", "pyright"),
}
_INI_SECTIONS = {  # runner → how its sections begin, in setup.cfg and tox.ini
    "pytest": ("pytest", "tool:pytest", "coverage"),
    "py": ("pytest", "tool:pytest", "coverage"),
    "tox": ("tox", "testenv", "pytest", "tool:pytest", "coverage"),
    "nox": ("pytest", "tool:pytest", "coverage"),
    "nose2": ("unittest", "nose"),
    "lint-imports": ("importlinter",),
    "dmypy": ("mypy",),
}
_PACKAGE_KEYS = (  # of package.json, beside scripts
    *("jest", "mocha", "ava", "tap", "nyc", "c8", "vitest", "jasmine", "babel", "eslintConfig", "eslintIgnore"),
    *("prettier", "stylelint", "xo", "standard", "workspaces"),
)
_CARGO_TABLES = ("test", "bench", "lib", "profile", "workspace", "patch", "replace", "lints")
_GRADLE_HARMLESS = ("dependencies", "repositories", "plugins", "pluginManagement", "buildscript")
_POM_HARMLESS = ("dependencies", "dependencyManagement", "repositories", "pluginRepositories", "description", "modules")
_REFERENCES = r"(?s)<!--.*?-->|<(Package|Project)Reference\b[^>]*?(/>|>.*?</\1Reference>)"
_STEERING_PROPERTY = r"(?i)<[^/>]*(?:skip|test|surefire|failsafe|argLine)[^>]*>[^<]*"


def extract_config_part(path: str, text: str, runners: Collection[str], scripts: Collection[str] = ()) -> object:
    """A comparable value: it differs when what these runners read has changed. A file that cannot be read counts as a
    whole."""
    name = path.rpartition("/")[2]
    try:
        if name == "package.json":
            return _extract_package(text, scripts)
        if name == "pyproject.toml":
            return _extract_pyproject(text, runners)
        if name in ("setup.cfg", "tox.ini"):
            return _extract_ini(text, runners)
        if name == "Cargo.toml":
            return _extract_cargo(text)
        if name == "composer.json":
            return _pick(msgspec.json.decode(text), ("scripts",))
        if name in ("go.mod", "go.work"):
            return [line for line in _strip_go_requirements(text).splitlines() if line.strip()]
        if name.startswith(("build.gradle", "settings.gradle")):
            return _strip_blocks(_strip_slash_comments(text), _GRADLE_HARMLESS).split()
        if name == "pom.xml":
            return _extract_pom(text)
        if name.endswith((".csproj", ".fsproj", ".vbproj")):
            return re.sub(_REFERENCES, "", text).split()
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    return text


def read_package_scripts(text: str) -> dict[str, str]:
    """The scripts of a package.json; none of one that cannot be read."""
    try:
        document = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}
    scripts = document.get("scripts") if isinstance(document, dict) else None
    lines = scripts.items() if isinstance(scripts, dict) else ()
    return {name: line for name, line in lines if isinstance(line, str)}


def _extract_package(text: str, scripts: Collection[str]) -> object:
    """The scripts that are used, with those that npm runs before and after them, and the tools' own settings."""
    document = msgspec.json.decode(text)
    hooks = {f"{when}{name}" for name in scripts for when in ("pre", "", "post")}
    used = {name: line for name, line in read_package_scripts(text).items() if name in hooks}
    return used, _pick(document, _PACKAGE_KEYS)


def _extract_pyproject(text: str, runners: Collection[str]) -> object:
    import tomllib

    tool = tomllib.loads(text).get("tool", {})
    names = {table for runner in runners for table in _PYPROJECT_TABLES.get(runner, (runner,))}
    return _pick(tool, sorted(names))


def _extract_ini(text: str, runners: Collection[str]) -> object:
    starts = tuple({start for runner in runners for start in _INI_SECTIONS.get(runner, (runner,))})
    kept: dict[str, list[str]] = {}
    section = ""
    for line in text.splitlines():
        if found := re.fullmatch(r"\[(.+)\]\s*", line):
            section = found[1]
        elif section.startswith(starts) and line.strip() and not line.lstrip().startswith(("#", ";")):
            kept.setdefault(section, []).append(line.strip())
    return kept


def _extract_cargo(text: str) -> object:
    import tomllib

    document = tomllib.loads(text)
    package = document.get("package", {})
    steering = ("autotests", "autobenches", "autoexamples", "build", "default-run", "edition")
    features = document.get("features", {})
    return _pick(document, _CARGO_TABLES), _pick(package, steering), _pick(features, ("default",))


def _extract_pom(text: str) -> object:
    stripped = re.sub(r"(?s)<!--.*?-->", "", text)
    for name in _POM_HARMLESS:
        stripped = re.sub(rf"(?s)<{name}>.*?</{name}>", "", stripped)

    def keep_steering(found: re.Match[str]) -> str:
        return " ".join(re.findall(_STEERING_PROPERTY, found[0]))

    stripped = re.sub(r"(?s)<properties>.*?</properties>", keep_steering, stripped)
    return re.sub(r"<version>[^<]*</version>", "", stripped).split()


def _strip_go_requirements(text: str) -> str:
    text = re.sub(r"(?m)//.*$", "", text)
    return re.sub(r"(?ms)^\s*require\s*\(.*?^\s*\)|^\s*require\s.*?$|^\s*(go|toolchain)\s.*?$", "", text)


def _strip_slash_comments(text: str) -> str:
    return re.sub(r"(?s)/\*.*?\*/|(?<!:)//[^\n]*", "", text)


def _strip_blocks(text: str, names: Collection[str]) -> str:
    """Without `name { … }`, braces matched."""
    kept, at = [], 0
    for found in re.finditer(rf"(?m)^\s*({'|'.join(names)})\s*{{", text):
        if found.start() < at:
            continue
        kept.append(text[at : found.start()])
        depth, at = 1, found.end()
        while at < len(text) and depth:
            depth += (text[at] == "{") - (text[at] == "}")
            at += 1
    return "".join([*kept, text[at:]])


def _pick(document: object, names: Collection[str]) -> object:
    if not isinstance(document, Mapping):
        return document
    return {name: document[name] for name in names if name in document}
