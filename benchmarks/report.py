"""How large the report of 10⁵ rows is, and how soon its slider answers, in headless Chromium.

    python benchmarks/report.py [rows]

Needs chromium and chromedriver. "labels" is the cut of the whole tree and the labels of all rows
shown; "picture" ends when the frame that shows them has been painted.
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

from softkern import AlphaCutClustering, rank_points
from softkern.report import write_report

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


def groups(n: int) -> np.ndarray:
    spread = [0.3, 0.5, 0.8] * 4
    X, _ = make_blobs(n * 9 // 10, 2, centers=12, cluster_std=spread, random_state=1)
    return np.vstack([X, np.random.default_rng(0).uniform(-14, 14, (n - len(X), 2))])


def chromium(folder: str) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in FLAGS.split():
        options.add_argument(f"--{flag}")
    options.add_argument(f"--user-data-dir={folder}/profile")
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def task_seconds(browser: webdriver.Chrome) -> float:
    """What the page's thread has used so far, whatever else the machine was doing."""
    metrics = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")


def check(browser: webdriver.Chrome, model: AlphaCutClustering) -> None:
    """The browser's labels of all points of the tree are the model's, at a few levels."""
    levels = browser.execute_script("return softkernReport.levels")
    for step in np.linspace(0, len(levels) - 1, 8).astype(int).tolist():
        script = f"return Array.from(softkernReport.tree.cut({step}).labels)"
        assert np.array_equal(browser.execute_script(script), model.tree_.labels_at(levels[step]))


def main(n: int) -> None:
    X = pd.DataFrame(groups(n), columns=["x", "y"])
    model = AlphaCutClustering().fit(X)
    ranks = rank_points(model)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        start = time.perf_counter()
        write_report(page, model, X, ranks=ranks, title="Groups")
        seconds, size = time.perf_counter() - start, page.stat().st_size / 1e6
        print(f"report of {n:,} rows: {size:.2f} MB (wanted < 8), written in {seconds:.1f} s")
        browser = chromium(folder)
        try:
            browser.get(page.as_uri())
            browser.execute_async_script("softkernReport.ready.then(arguments[0])")
            browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
            before = task_seconds(browser)
            times = np.array(browser.execute_async_script(MOVE))
            busy = (task_seconds(browser) - before) / len(times)
            check(browser, model)
        finally:
            browser.quit()
    for name, column in zip(("cut alone", "labels", "picture"), times.T, strict=True):
        middle, high = np.quantile(column, [0.5, 0.95])
        print(f"  {name}: {middle:.1f} ms, 95 % within {high:.1f} ms (wanted < 100)")
    print(f"  time of the page's own thread: {1000 * busy:.1f} ms a move")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
