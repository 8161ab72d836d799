# Sourced by the scripts beside it. `find_ralph` runs ralph with its arguments: the one on PATH, else the one of the
# checkout or the installation this plugin lies in.
find_ralph() {
  if command -v ralph >/dev/null 2>&1; then
    exec ralph "$@"
  fi
  here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
  # a checkout has its virtual environment three folders up; an installed package lies in lib/pythonX/site-packages
  for found in "$here/../../../.venv/bin/ralph" "$here/../../../../../../bin/ralph"; do
    if [ -x "$found" ]; then
      exec "$found" "$@"
    fi
  done
  if [ -f "$here/../../../pyproject.toml" ]; then
    echo "ralph is not set up in this checkout: run 'make install' or 'make demo' in $(cd "$here/../../.." && pwd -P)" >&2
  else
    echo "ralph is not installed: pipx install ralph-verified" >&2
  fi
  exit 2
}
