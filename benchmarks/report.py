"""Measure the size of the report of 10⁵ rows, and its response times in headless Chromium.

    python benchmarks/report.py [rows] [columns]

Needs chromium and chromedriver. "first picture" is the time from opening the file until the rows are
drawn, the median of five. The time of a control ends when the changed frame has been painted. With two
columns the model has a tree, and "labels" is the cut of the tree with the labels of all rows shown.
With more columns it is fuzzy c-means.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from sklearn.datasets import make_blobs

from softkern import AlphaCutClustering, FuzzyCMeans, rank_points
from softkern.tables.report import write_report

FLAGS = "headless=new no-sandbox disable-gpu disable-quic no-first-run disable-background-networking disable-component-update disable-sync"

MOVE = """
const done = arguments[0], slider = document.getElementById("alpha"), times = [];
const frame = () => new Promise((next) => requestAnimationFrame(() => setTimeout(next, 0)));
(async () => {
  for (let step = 0; step < softkernReport.levels.length; step += 10) {
    await frame();
    const start = performance.now();
    softkernReport.tree.cut(step);
    const cut = performance.now();
    slider.value = step;
    slider.dispatchEvent(new Event("input"));
    const labels = performance.now();
    await frame(); // hands the data to bokeh, which paints in the next one
    await frame();
    times.push([cut - start, labels - cut, performance.now() - cut]);
  }
  done(times);
})();
"""

# moves every control from one end to the other
CONTROLS = """
const done = arguments[0], times = {};
const frame = () => new Promise((next) => requestAnimationFrame(() => setTimeout(next, 0)));
const timed = async (name, change) => {
  await frame();
  const start = performance.now();
  change();
  await frame();
  await frame();
  (times[name] ??= []).push(performance.now() - start);
};
const set = (control, value, kind) => {
  control.value = value;
  control.dispatchEvent(new Event(kind, { bubbles: true }));
};
(async () => {
  for (const name of ["number", "rejected"]) {
    const slider = document.getElementById(name);
    for (let k = 0; slider && k <= 20; k++) {
      await timed(name, () => set(slider, Math.round((k * slider.max) / 20), "input"));
    }
  }
  for (const name of ["across", "color"]) {
    const select = document.getElementById(name);
    for (const { value } of [...select.options].slice(0, 12)) await timed(name, () => set(select, value, "change"));
  }
  set(document.getElementById("color"), "", "change");
  for (let k = 0; k < 12; k++) await timed("legend", () => document.querySelector("#legend button").click());
  done(times);
})();
"""


def groups(n: int, columns: int) -> pd.DataFrame:
    spread = [0.3, 0.5, 0.8] * 4
    X, _ = make_blobs(n * 9 // 10, columns, centers=12, cluster_std=spread, random_state=1)
    noise = np.random.default_rng(0).uniform(-14, 14, (n - len(X), columns))
    return pd.DataFrame(np.vstack([X, noise]), columns=[f"column {k}" for k in range(columns)])


def chromium(folder: str) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in FLAGS.split():
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={folder}/profile")
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def task_seconds(browser: webdriver.Chrome) -> float:
    """Return the CPU time of the page's thread so far."""
    metrics = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def check(browser: webdriver.Chrome, model: AlphaCutClustering) -> None:
    """Check that the labels in the browser equal those of the model at a few levels."""
    levels = browser.execute_script("return softkernReport.levels")
    for step in np.linspace(0, len(levels) - 1, 8).astype(int).tolist():
        script = f"return Array.from(softkernReport.tree.cut({step}).labels)"
        assert np.array_equal(browser.execute_script(script), model.tree_.labels_at(levels[step]))


def opened(browser: webdriver.Chrome, page: Path) -> float:
    """Return the milliseconds from opening the page to its first picture."""
    browser.get(page.as_uri())
    ready = "softkernReport.ready.then(() => requestAnimationFrame(() => setTimeout(done, 0)))"
    browser.execute_async_script(f"const done = arguments[0]; {ready}")
    return float(browser.execute_script("return performance.now()"))


def tell(times: dict[str, np.ndarray]) -> None:
    for name, values in times.items():
        middle, high = np.quantile(values, [0.5, 0.95])
        print(f"  {name}: {middle:.1f} ms, 95 % within {high:.1f} ms (wanted < 100)")


def main(n: int, columns: int) -> None:
    X = groups(n, columns)
    model = AlphaCutClustering().fit(X) if columns == 2 else FuzzyCMeans(12).fit(X)
    ranks = rank_points(model)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        start = time.perf_counter()
        write_report(page, model, X, ranks=ranks, title="Groups")
        seconds, size = time.perf_counter() - start, page.stat().st_size / 1e6
        print(
            f"report of {n:,} rows × {columns}: {size:.2f} MB (wanted < 8), "
            f"written in {seconds:.1f} s"
        )
        browser = chromium(folder)
        try:
            first = [opened(browser, page) for _ in range(5)]
            print(f"  first picture: {np.median(first):.0f} ms")
            tell(browser.execute_async_script(CONTROLS))
            if columns > 2:
                return
            browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
            before = task_seconds(browser)
            times = np.array(browser.execute_async_script(MOVE))
            busy = (task_seconds(browser) - before) / len(times)
            check(browser, model)
        finally:
            browser.quit()
    tell(dict(zip(("cut alone", "labels", "picture"), times.T, strict=True)))
    print(f"  time of the page's own thread: {1000 * busy:.1f} ms a move")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(given + [100_000, 2][len(given) :]))
