"""Look at every page of the site as people do: `python tests/site/look.py FOLDER`; `make site` runs it.

Headless Chromium loads each page at the widths of a desk and of a telephone, light and dark, and says which are
wider than the window, which pictures are missing, and which text is hard to read. The network cannot be reached.
"""

from __future__ import annotations

import json
import re
import sys
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory

from make.browser import DARK, LIGHT, dom

WIDTHS = (1280, 400)
SCHEMES = {"light": LIGHT, "dark": DARK}
# As people with weak eyes need it: WCAG 2.2, 1.4.3, of large text.
LEAST_CONTRAST = 3

LOOK = """<!doctype html><meta charset="utf-8"><body><pre id="found"></pre><script>
const pages = PAGES, widths = WIDTHS, found = [];
const luminance = (colour) => {
  const [r, g, b] = colour.match(/[\\d.]+/g).map((part) => part / 255)
    .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};
const scrolls = (element) => {
  for (let each = element.parentElement; each.tagName !== "ARTICLE"; each = each.parentElement)
    if (["auto", "scroll"].includes(getComputedStyle(each).overflowX)) return true;
  return false;
};
const look = (page, width, view) => {
  const document = view.document, say = (what) => found.push(`${page} at ${width}: ${what}`);
  if (document.documentElement.scrollWidth > width) say(`is ${document.documentElement.scrollWidth} wide`);
  for (const each of document.querySelectorAll("article *"))
    if (each.getBoundingClientRect().right > width + 1 && !scrolls(each))
      say(`${each.tagName} reaches to ${Math.round(each.getBoundingClientRect().right)}: ${each.textContent.slice(0, 40)}`);
  for (const each of document.querySelectorAll(".table-wrapper")) {
    const first = each.querySelector("td"), share = first.offsetWidth / each.clientWidth;
    if (view.getComputedStyle(first).position === "sticky" && each.scrollWidth > each.clientWidth && share > 0.6)
      say(`the column that stays has ${share.toFixed(2)} of the room of a table: ${each.textContent.trim().slice(0, 20)}`);
  }
  for (const each of document.images)
    if (each.getAttribute("src") && !each.naturalWidth) say(`no picture at ${each.getAttribute("src")}`);
  const article = document.querySelector("article");
  if (!article || !article.textContent.trim()) return say("is empty");
  const ratio = contrast(view.getComputedStyle(article).color, view.getComputedStyle(document.body).backgroundColor);
  if (ratio < LEAST) say(`text has a contrast of ${ratio.toFixed(1)}`);
  const isDark = luminance(view.getComputedStyle(document.body).backgroundColor) < 0.5;
  if (isDark !== matchMedia("(prefers-color-scheme: dark)").matches) say("has the colours of the other scheme");
};
const frame = document.body.appendChild(document.createElement("iframe"));
frame.style = "border: 0; height: 900px";
(async () => {
  for (const width of widths)
    for (const page of pages) {
      frame.style.width = `${width}px`;
      await new Promise((done) => { frame.onload = done; frame.src = page; });
      look(page, width, frame.contentWindow);
    }
  document.getElementById("found").textContent = JSON.stringify([pages.length * widths.length, found]);
})();
</script>"""


def seen(site: Path, scheme: str) -> tuple[int, list[str]]:
    """How many looks there were, and what was wrong."""
    pages = sorted(page for page in site.rglob("*.html") if page.stem not in ("genindex", "search"))
    # Pages may look into each other's frames where all of them are local files.
    script = LOOK.replace("PAGES", json.dumps([page.as_uri() for page in pages]))
    script = script.replace("WIDTHS", json.dumps(WIDTHS)).replace("LEAST", str(LEAST_CONTRAST))
    with TemporaryDirectory() as folder:
        page = Path(folder, "look.html")
        page.write_text(script)
        html = dom(
            page,
            "--allow-file-access-from-files",
            "--window-size=1400,1000",
            f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
            "--virtual-time-budget=600000",
        )
    (text,) = re.findall(r'<pre id="found">(.*?)</pre>', html, re.DOTALL)
    if not text:
        sys.exit("Chromium did not come to the end of the pages")
    looks, found = json.loads(unescape(text))
    return looks, [each.replace(site.as_uri() + "/", "") for each in found]


def main() -> None:
    site = Path(sys.argv[1]).resolve()
    wrong = 0
    for scheme in SCHEMES:
        looks, found = seen(site, scheme)
        lines = [f"{scheme}: {looks} looks, {len(found)} of them found something", *found]
        sys.stdout.write("\n  ".join(lines) + "\n")
        wrong += len(found)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
