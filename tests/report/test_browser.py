"""The page in a browser: what its sliders, tables and keys do. Skipped where there is none."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

pytest.importorskip("bokeh")
webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

from softkern import (  # noqa: E402
    AlphaCutClustering,
    OneClassPCM,
    PossibilisticCMeans,
    rank_points,
)
from softkern.report import write_report  # noqa: E402

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,1000",
)
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\u2028'\""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        message = "no chromium and chromedriver here: the page is not tried in a browser"
        (pytest.fail if os.environ.get("SOFTKERN_NEEDS_BROWSER") else pytest.skip)(message)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "WARNING"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()


class Page:
    """A page that is open, and what its reader can do."""

    def __init__(self, browser, path):
        self.browser = browser
        browser.get(path.as_uri())
        done = "const done = arguments[0]; softkernReport.ready.then(done, (e) => done(String(e)))"
        assert browser.execute_async_script(done) is True
        self.rows = np.array(self.run("return Array.from(softkernReport.rows)"))
        self.levels = self.run("return softkernReport.levels")

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def slide(self, name, step):
        script = (
            "const slider = document.getElementById(arguments[0]); slider.value = arguments[1];"
            "slider.dispatchEvent(new Event('input', {bubbles: true}))"
        )
        self.run(script, name, step)
        self.drawn()

    def drawn(self):
        self.browser.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 30))"
        )

    def labels(self):
        return np.array(self.run("return softkernReport.labels()"))

    def state(self):
        return self.find("#state").text

    def column(self, name, source="points"):
        """A column of what is drawn."""
        script = (
            "const found = Bokeh.documents.map((d) => d.get_model_by_name(arguments[0]));"
            "return Array.from(found.find((model) => model).data[arguments[1]])"
        )
        return self.run(script, source, name)

    def complaints(self):
        return [entry["message"] for entry in self.browser.get_log("browser")]


@pytest.fixture(scope="module")
def table():
    X = make_blobs(240, 2, centers=[(0, 0), (6, 0), (0, 7)], cluster_std=0.8, random_state=0)[0]
    X[0] = [12, 12]
    return pd.DataFrame(X, columns=["width", "height"])


@pytest.fixture(scope="module")
def written(table, tmp_path_factory):
    model = AlphaCutClustering().fit(table)
    path = tmp_path_factory.mktemp("report") / "page.html"
    details = {
        "model": {"name": "alpha-cut", "parameters": {"engine_params": None, "graph": "knn"}}
    }
    ranks = rank_points(model)
    write_report(path, model, table, ranks=ranks, title="Three groups", details=details)
    return path, model


@pytest.fixture
def alpha_page(browser, written):
    path, model = written
    return Page(browser, path), model


def test_the_slider_shows_what_the_model_says(alpha_page):
    page, model = alpha_page
    assert np.array_equal(page.labels(), model.labels_[page.rows])
    for step in range(0, len(page.levels), 29):
        page.slide("alpha", step)
        truth = model.labels_at(page.levels[step])
        assert np.array_equal(page.labels(), truth[page.rows])
        n_clusters, noise = truth.max() + 1, (truth < 0).sum()
        assert f"{n_clusters} cluster" in page.state()
        assert f"{noise} of 240 rows" in page.state()
        assert f"α = {page.levels[step]}" in page.state() or "the model’s level" in page.state()
        tones = np.array(page.column("tone"))
        assert np.array_equal(tones, np.where(truth < 0, 6, truth % 6)[page.rows])
    page.find("#own").click()
    assert np.array_equal(page.labels(), model.labels_[page.rows])
    assert page.complaints() == []


@pytest.mark.parametrize("kind", ["whole", "real"])
def test_the_slider_with_weights_equal_rows_and_rows_that_do_not_count(
    kind, browser, table, tmp_path
):
    X = pd.concat([table.round(1), table.round(1)[:90], table[:5] + 0.3], ignore_index=True)
    generator = np.random.default_rng(0)
    weight = generator.integers(0, 4, len(X)).astype(float)
    if kind == "real":
        weight *= generator.choice([0.1, 0.3, 1 / 1024], len(X))
    model = AlphaCutClustering(alpha=0.4, graph="knn").fit(X, sample_weight=weight)
    path = tmp_path / "page.html"
    write_report(path, model, X, ranks=rank_points(model), title="Weights")
    page = Page(browser, path)
    for step in range(0, len(page.levels), 61):
        page.slide("alpha", step)
        level = page.levels[step]
        assert np.array_equal(page.labels(), model.labels_at(level)[page.rows])
        assert f"{(model.labels_at(level) < 0).sum()} of {len(X)} rows" in page.state()
        nodes = page.run(f"return Array.from(softkernReport.tree.cut({step}).labels)")
        assert np.array_equal(nodes, model.tree_.labels_at(level))


def test_keys_move_the_sliders_and_the_picture(alpha_page):
    page, model = alpha_page
    slider = page.find("#alpha")
    slider.send_keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.drawn()
    assert np.array_equal(page.labels(), model.labels_at(page.levels[2])[page.rows])
    assert slider.get_attribute("aria-valuetext") == f"α = {page.levels[2]}"
    assert page.find("#state").get_attribute("aria-live") == "polite"
    where = "return Bokeh.documents[0].get_model_by_name('points figure').x_range.start"
    before = page.run(where)
    page.find("#points").send_keys(Keys.ARROW_RIGHT)
    moved = page.run(where)
    page.find("#points").send_keys("0")
    assert moved > before
    assert page.run(where) == pytest.approx(before)


def test_far_rows_do_not_press_the_others_into_a_line(browser, table, tmp_path):
    far = table.copy()
    far.iloc[:2] = -999
    path = tmp_path / "page.html"
    write_report(path, AlphaCutClustering().fit(far), far)
    page = Page(browser, path)
    where = "return Bokeh.documents[0].get_model_by_name('points figure').x_range.start"
    assert page.run(where) > -50
    button = page.find("#everything")
    assert button.text == "Show all rows: 2 far outside"
    button.click()
    assert page.run(where) < -999
    assert not button.is_displayed()
    assert page.complaints() == []


def test_tab_reaches_everything(alpha_page):
    page, _ = alpha_page
    reached = []
    body = ActionChains(page.browser)
    page.run("document.activeElement.blur()")
    for _ in range(20):
        body.send_keys(Keys.TAB).perform()
        reached.append(page.run("const e = document.activeElement; return e.id || e.tagName"))
    wanted = ["alpha", "own", "rejected", "across", "up", "points", "TR"]
    assert [name for name in wanted if name in reached] == wanted


def test_rejection_greys_out_the_top_ranks(alpha_page):
    page, model = alpha_page
    last = page.run("return Number(document.getElementById('rejected').max)")
    page.slide("rejected", last)
    ranks = rank_points(model)["outlier_rank"].to_numpy()[page.rows]
    rejected = ranks <= 120
    markers = np.array(page.column("marker"))
    filled = np.array(page.column("filled"), dtype=float)
    assert np.array_equal(np.isnan(filled), rejected | (model.labels_[page.rows] < 0))
    assert set(markers[rejected]) == {"circle"}
    assert f"{rejected.sum()} rejected" in page.state()
    page.slide("rejected", 0)
    assert "none rejected" in page.state()


def test_a_row_of_a_table_is_marked_in_the_picture(alpha_page, table):
    page, model = alpha_page
    first = int(np.argmin(rank_points(model)["outlier_rank"]))
    row = page.find("#outliers-table tbody tr")
    assert row.text.split()[:2] == ["1", str(first)]
    page.run("arguments[0].focus()", row)
    assert page.column("x", "ring") == pytest.approx([table["width"][first]])
    assert page.column("y", "ring") == pytest.approx([table["height"][first]])
    assert f"Row {first}" in page.find("#point").text
    assert "width" in page.find("#point").text


def test_pointing_at_a_row_reads_it(alpha_page, table):
    page, model = alpha_page
    first = int(np.argmin(rank_points(model)["outlier_rank"]))  # nothing else is near it
    script = (
        "const d = Bokeh.documents[0], f = d.get_model_by_name('points figure');"
        "const v = Bokeh.index.find_one_by_id(f.id), { x_scale, y_scale } = v.frame;"
        "const box = v.canvas_view.el.getBoundingClientRect();"
        "const [x, y] = arguments; return [box.x + x_scale.compute(x), box.y + y_scale.compute(y)]"
    )
    page.run("document.getElementById('points').scrollIntoView()")
    x, y = page.run(script, *map(float, table.iloc[first]))
    move = {"type": "mouseMoved", "x": x, "y": y}
    page.browser.execute_cdp_cmd("Input.dispatchMouseEvent", move)
    page.drawn()
    assert page.find("#tip").text.startswith(f"Row {first}: ")
    assert page.column("x", "ring") == pytest.approx([table["width"][first]])


def test_other_axes_can_be_chosen(alpha_page):
    page, _ = alpha_page
    page.find("#up").send_keys("typ")
    page.drawn()
    figure = "Bokeh.documents[0].get_model_by_name('points figure')"
    assert page.run(f"return {figure}.left[0].axis_label") == "typicality"
    assert max(page.column("y")) < 1


def test_hostile_names_run_no_script(browser, table, tmp_path):
    X = table.rename(columns={"width": HOSTILE, "height": "<b onclick=window.hacked=1>h</b>"})
    model = AlphaCutClustering().fit(table)
    path = tmp_path / "page.html"
    write_report(
        path,
        model,
        X,
        ranks=rank_points(model),
        title=HOSTILE,
        ids=[f"{HOSTILE}{k}" for k in range(len(X))],
        details={HOSTILE: HOSTILE, "nested": {HOSTILE: [HOSTILE]}},
    )
    page = Page(browser, path)
    for row in browser.find_elements(By.CSS_SELECTOR, "#outliers-table tbody tr")[:3]:
        page.run("arguments[0].focus()", row)
    page.find("#across").send_keys("out")
    page.slide("alpha", 40)
    assert page.complaints() == []
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    # the second line of defence: even a script that got in would not run
    page.run(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 2';"
        "document.body.append(s); document.body.insertAdjacentHTML('beforeend',"
        " '<img src=x onerror=window.hacked=3>')"
    )
    page.drawn()
    assert page.run("return window.hacked ?? null") is None
    assert HOSTILE[:20] in page.find("h1").text
    assert HOSTILE[:20] in page.find("#outliers-table thead").text
    complaints = page.complaints()
    assert complaints
    assert all("Content Security Policy" in text for text in complaints)


@pytest.mark.parametrize("kind", [OneClassPCM, PossibilisticCMeans])
def test_models_without_a_tree(kind, browser, table, tmp_path):
    model = kind().fit(table)
    path = tmp_path / "page.html"
    write_report(path, model, table, ranks=rank_points(model), title="No tree")
    page = Page(browser, path)
    page.slide("rejected", 5)
    assert "5 " in page.state()
    assert not browser.find_elements(By.ID, "alpha")
    assert page.complaints() == []


def test_dark_and_narrow(alpha_page):
    page, _ = alpha_page
    axis = "Bokeh.documents[0].get_model_by_name('points figure').below[0]"
    ink = {}
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        page.drawn()
        ground = page.run("return getComputedStyle(document.body).backgroundColor")
        ink[scheme] = page.run(f"return {axis}.axis_label_text_color"), ground
    assert ink["light"] != ink["dark"]
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    phone = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    page.drawn()
    assert page.run("return document.documentElement.scrollWidth") <= 360
    plot, slider = (page.find(name).rect for name in ("#points", "#alpha"))
    assert 0 < slider["y"] - plot["y"] < 740  # both are seen at once
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_why_rows_are_listed(browser, table, tmp_path):
    X = table.copy()
    X.loc[3, "height"] = 60.0
    path = tmp_path / "page.html"
    model = PossibilisticCMeans(3).fit(X)
    write_report(path, model, X, title="Why")
    page = Page(browser, path)
    page.drawn()
    heads = [
        cell.text for cell in page.browser.find_elements(By.CSS_SELECTOR, "#outliers-table th")
    ]
    assert heads[3:6] == ["outlier score", "grade", "why"]
    first = page.find("#outliers-table tbody tr")
    cells = [cell.text for cell in first.find_elements(By.TAG_NAME, "td")]
    assert cells[1] == "3"
    assert cells[4] == "extreme"
    assert cells[5].startswith("height 60, usual ")
    articles = page.browser.find_elements(By.CSS_SELECTOR, "#clusters article")
    assert len(articles) == 3
    assert articles[0].text.startswith("cluster 0: ")
    assert page.complaints() == []
