"""Prints a Homebrew formula for an sdist, every dependency pinned: python tools/write_formula.py SDIST REPOSITORY TAG

Resources are what pip resolves for the package: `pip install --dry-run --report`, sdists only, with their SHA-256.
"""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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


def render_formula(sdist: Path, report: Mapping[str, Any], *, repository: str, tag: str) -> str:
    """`report`: pip's, of an installation that was only planned. The sdist is taken from the release."""
    url = f"{repository}/releases/download/{tag}/{sdist.name}"
    digest = hashlib.sha256(sdist.read_bytes()).hexdigest()
    resources = "\n".join(RESOURCE.format(**each) for each in _list_resources(report))
    return FORMULA.format(homepage=repository, url=url, digest=digest, resources=resources)


def _list_resources(report: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    found = sorted(report["install"], key=lambda item: str(item["metadata"]["name"]).lower())
    for item in found:
        if item["metadata"]["name"] != "ralph-verified":
            digest = item["download_info"]["archive_info"]["hashes"]["sha256"]
            yield {"name": item["metadata"]["name"], "url": item["download_info"]["url"], "digest": digest}


def main(words: list[str]) -> int:
    """The exit code."""
    sdist = Path(words[0])
    plan = ("install", "--quiet", "--dry-run", "--ignore-installed", "--no-binary", ":all:", "--report", "-")
    said = subprocess.run([sys.executable, "-m", "pip", *plan, str(sdist)], capture_output=True, text=True, check=True)
    print(render_formula(sdist, json.loads(said.stdout), repository=words[1], tag=words[2]), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
