"""Prints a Homebrew formula for an sdist, every dependency pinned: python tools/write_formula.py SDIST REPOSITORY TAG

pip says which versions belong together (`pip install --dry-run --report`); the sdist of each, with its SHA-256, is
looked up in the package index. Letting pip resolve by sdists alone would build every build tool from source, for hours.
"""

import hashlib
import importlib
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

LINK = re.compile(r'href="([^"#]+/([^"/#]+\.tar\.gz))#sha256=([0-9a-f]{64})"')

FORMULA = """\
class RalphVerified < Formula
  include Language::Python::Virtualenv

  desc "Runs coding agents in a loop until your own checks prove that the work is done"
  homepage "{homepage}"
  url "{url}"
  sha256 "{digest}"
  license "MIT"

  depends_on "git"
  depends_on "libyaml"
  depends_on "python@3.13"

{resources}
  def install
    virtualenv_install_with_resources
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/ralph --version")
    system bin/"ralph", "demo"
  end
end
"""
RESOURCE = """\
  resource "{name}" do
    url "{url}"
    sha256 "{digest}"
  end
"""


def render_formula(
    sdist: Path, report: Mapping[str, Any], *, repository: str, tag: str, read_index: Callable[[str], str]
) -> str:
    """`report`: pip's, of an installation that was only planned. The package itself is taken from the release."""
    url = f"{repository}/releases/download/{tag}/{sdist.name}"
    digest = hashlib.sha256(sdist.read_bytes()).hexdigest()
    resources = "\n".join(RESOURCE.format(**each) for each in _list_resources(report, read_index))
    return FORMULA.format(homepage=repository, url=url, digest=digest, resources=resources)


def _list_resources(report: Mapping[str, Any], read_index: Callable[[str], str]) -> Iterator[dict[str, str]]:
    found = sorted(report["install"], key=lambda item: str(item["metadata"]["name"]).lower())
    for item in found:
        name, version = str(item["metadata"]["name"]), str(item["metadata"]["version"])
        if name != "ralph-verified":
            yield {"name": name, **_find_sdist(read_index(_normalize(name)), name, version)}


def _find_sdist(page: str, name: str, version: str) -> dict[str, str]:
    wanted = _normalize(f"{name}-{version}") + ".tar.gz"
    for url, file, digest in LINK.findall(page):
        if _normalize(file.removesuffix(".tar.gz")) + ".tar.gz" == wanted:
            return {"url": url, "digest": digest}
    raise SystemExit(f"no sdist of {name} {version} in the package index")


def _normalize(name: str) -> str:
    """As the index compares names; the dots of a version do no harm, both sides lose them."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_index_page(name: str) -> str:
    index = importlib.import_module("pip._internal.models.index").PyPI.simple_url  # the public one, by pip's own word
    with urllib.request.urlopen(f"{index}/{name}/", timeout=60) as answer:
        return str(answer.read().decode("utf-8"))


def main(words: list[str]) -> int:
    """The exit code."""
    sdist = Path(words[0])
    plan = ("install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-")
    said = subprocess.run([sys.executable, "-m", "pip", *plan, str(sdist)], capture_output=True, text=True, check=True)
    report = json.loads(said.stdout)
    print(render_formula(sdist, report, repository=words[1], tag=words[2], read_index=read_index_page), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
