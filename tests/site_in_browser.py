"""What a browser finds wrong on a built site: `python -m tests.site_in_browser build/docs`, with chromium.

Every page is opened at two widths, in a frame of a page of its own. Scripts that fail, pictures that are not there, and
what is wider than the window are told; of the wide window, outputs of notebooks that need scrolling too.
"""

from __future__ import annotations

import functools
import html
import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

WIDTHS = (1280, 390)
BROWSER = next((name for name in ("chromium", "google-chrome") if shutil.which(name)), "chromium")
CHECK = "/check-of-the-site"
"""Where the page with the frame is served."""
SCRIPT = """
const found = [];
const look = (page, width) => new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width: ${width}px; height: 900px; border: 0`;
  const tell = (what) => found.push(`${page} at ${width}: ${what}`);
  frame.addEventListener("load", () => setTimeout(() => {
    const { document: shown, innerWidth } = frame.contentWindow;
    if (shown.documentElement.scrollWidth > innerWidth) tell(`${shown.documentElement.scrollWidth} pixels wide`);
    for (const image of shown.images)
      if (image.src.startsWith(location.origin) && image.complete && !image.naturalWidth) tell(`no ${image.src}`);
    if (width > 1000)
      for (const part of shown.querySelectorAll(".cell :is(pre, div)"))
        if (part.scrollWidth > part.clientWidth + 1)
          tell(`${part.scrollWidth} of ${part.clientWidth} pixels: ${part.textContent.trim().slice(0, 40)}`);
    frame.remove();
    done();
  }, 60));
  frame.src = page;
  document.body.append(frame);
  frame.contentWindow.addEventListener("error", (event) => tell(event.message));
});
(async () => {
  for (const page of PAGES) for (const width of WIDTHS) await look(page, width);
  document.body.innerHTML = "<pre></pre>";
  document.querySelector("pre").textContent = JSON.stringify(found);
})();
"""


class _Handler(SimpleHTTPRequestHandler):
    """Serves the site and, beside it, the page that looks at the others."""

    page = b""

    def do_GET(self) -> None:
        if self.path != CHECK:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.page)
        return None

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def wrong(site: Path) -> Iterator[str]:
    """Each thing that is wrong, with its page and the width of the window."""
    pages = [
        f"/{page.relative_to(site).as_posix()}" for page in sorted(site.rglob("*.html")) if "_static" not in str(page)
    ]
    script = SCRIPT.replace("PAGES", json.dumps(pages)).replace("WIDTHS", json.dumps(WIDTHS))
    handler = type("Handler", (_Handler,), {"page": f"<!DOCTYPE html><body><script>{script}</script>".encode()})
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}{CHECK}"
        command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"]
        shown = subprocess.run(
            [*command, f"--virtual-time-budget={2000 * len(pages)}", "--dump-dom", address],
            check=True, capture_output=True, text=True, timeout=500,
        ).stdout  # fmt: skip
        server.shutdown()
    answer = re.search(r"<pre>(.*)</pre>", shown, re.S)
    if not answer:
        raise RuntimeError(f"{BROWSER} has not come to the end of {len(pages)} pages")
    yield from json.loads(html.unescape(answer[1]))


if __name__ == "__main__":
    if not shutil.which(BROWSER):
        print(f"no {BROWSER} here")
        sys.exit(0)
    found = list(wrong(Path(sys.argv[1])))
    print("\n".join(found) or f"as wide as the window in {BROWSER}, light")
    sys.exit(bool(found))
