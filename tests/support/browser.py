"""Windows of a real browser, logged in to a `ralph web`."""

import shutil
from pathlib import Path
from typing import Any

SIZES = ((1440, 900), (390, 844))
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
AXE = Path(__file__).parents[2] / ".cache" / "browser" / "node_modules" / "axe-core" / "axe.min.js"
WAIT_MS = 30_000


def find_browser() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


class OpenPage:
    """A window for each link, and what went wrong in them."""

    def __init__(self, browser: Any, size: tuple[int, int], logins: dict[str, Any]) -> None:
        self._browser = browser
        self._contexts: list[Any] = []
        self.size = size
        self.is_phone = size[0] < 900
        self.complaints: list[str] = []
        self._logins = logins  # by link, which works once: what its first window was given

    def __call__(self, link: str, **options: object) -> Any:
        width, height = self.size
        login = self._logins.get(link)
        context = self._browser.new_context(
            viewport={"width": width, "height": height}, has_touch=self.is_phone, storage_state=login, **options
        )
        context.set_default_timeout(WAIT_MS)
        self._contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", self._hear)
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.goto(link.partition("/login")[0] if login else link)
        page.wait_for_selector("#link-state[data-state=live]")
        self._logins[link] = context.storage_state()
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()

    def _hear(self, message: Any) -> None:
        """What breaks the page's policy is an error of the console; that a server is gone, too, and no fault."""
        if message.type == "error" and "net::ERR_" not in message.text:
            self.complaints.append(f"console: {message.text}")


def find_serious_problems(page: Any) -> list[str]:
    """What axe-core minds, but for trifles."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
