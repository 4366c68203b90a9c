"""The page in a browser: sliders, tables and keys. Skipped without a browser."""

import base64
import io
import os
import shutil
import struct

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

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
from softkern.ranking import Ranker  # noqa: E402
from softkern.tables.explain import Explainer  # noqa: E402
from softkern.tables.explain.row_view import view_prepared  # noqa: E402
from softkern.tables.preparation import TablePreparation  # noqa: E402
from softkern.tables.report import write_report  # noqa: E402

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
MARKUP = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1>\u2028'\""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        message = "chromium or chromedriver is missing: the page is not tested in a browser"
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
    """An open page, and the actions of its reader."""

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
        self.wait_for_drawing()

    def wait_for_drawing(self):
        self.browser.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 30))"
        )

    def labels(self):
        return np.array(self.run("return softkernReport.labels()"))

    def state(self):
        return self.find("#state").text

    def column(self, name, source="points"):
        """Return a column of a data source of the plot."""
        script = (
            "const found = Bokeh.documents.map((d) => d.get_model_by_name(arguments[0]));"
            "return Array.from(found.find((model) => model).data[arguments[1]])"
        )
        return self.run(script, source, name)

    def read_console(self):
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


def test_the_slider_shows_the_labels_of_the_model(alpha_page):
    page, model = alpha_page
    assert np.array_equal(page.labels(), model.labels_[page.rows])
    for step in range(0, len(page.levels), 29):
        page.slide("alpha", step)
        truth = model.labels_at(page.levels[step])
        assert np.array_equal(page.labels(), truth[page.rows])
        n_clusters, noise = truth.max() + 1, (truth < 0).sum()
        assert f"{n_clusters} cluster" in page.state()
        assert f"{noise} of 240 rows" in page.state()
        assert f"level {page.levels[step]}" in page.state() or "the model’s own" in page.state()
        tones = np.array(page.column("tone"))
        assert np.array_equal(tones, np.where(truth < 0, 6, truth % 6)[page.rows])
    page.find("#own").click()
    assert np.array_equal(page.labels(), model.labels_[page.rows])
    assert page.read_console() == []


@pytest.mark.parametrize("kind", ["whole", "real"])
def test_the_slider_with_weights_duplicates_and_rows_of_weight_zero(kind, browser, table, tmp_path):
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


def test_keys_move_the_sliders_and_the_plot(alpha_page):
    page, model = alpha_page
    slider = page.find("#alpha")
    slider.send_keys(Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    page.wait_for_drawing()
    assert np.array_equal(page.labels(), model.labels_at(page.levels[2])[page.rows])
    assert slider.get_attribute("aria-valuetext") == f"level {page.levels[2]}"
    assert page.find("#state").get_attribute("aria-live") == "polite"
    where = "return Bokeh.documents[0].get_model_by_name('points figure').x_range.start"
    before = page.run(where)
    page.find("#points").send_keys(Keys.ARROW_RIGHT)
    moved = page.run(where)
    page.find("#points").send_keys("0")
    assert moved > before
    assert page.run(where) == pytest.approx(before)


def screen_position(page, x, y):
    """Return the screen position of a point of the plot."""
    page.run("document.getElementById('points').scrollIntoView()")
    script = (
        "const d = Bokeh.documents[0], f = d.get_model_by_name('points figure');"
        "const v = Bokeh.index.find_one_by_id(f.id), { x_scale, y_scale } = v.frame;"
        "const box = v.canvas_view.el.getBoundingClientRect();"
        "const [x, y] = arguments; return [box.x + x_scale.compute(x), box.y + y_scale.compute(y)]"
    )
    return page.run(script, float(x), float(y))


def mouse(page, kind, x, y, **more):
    page.browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})


def click(page, x, y):
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        mouse(page, kind, x, y, button="left", clickCount=1)
    page.wait_for_drawing()
    page.wait_for_drawing()


FIGURE = "Bokeh.documents[0].get_model_by_name('points figure')"


def get_view(page):
    """Return the ends of the axes: left, right, bottom and top."""
    script = f"const f = {FIGURE}; return [f.x_range, f.y_range].flatMap((r) => [r.start, r.end])"
    return page.run(f"return (() => {{ {script} }})()")


@pytest.fixture
def far_page(browser, table, tmp_path):
    far = table.copy()
    far.iloc[0] = [3, 3]
    far.iloc[1] = [-999, 3]
    far.iloc[2] = [3, 500]
    path = tmp_path / "page.html"
    write_report(path, AlphaCutClustering().fit(far), far)
    return Page(browser, path), far


def test_far_rows_are_marked_at_the_edge_and_do_not_widen_the_view(far_page):
    page, far = far_page
    left, right, below, above = get_view(page)
    inner = far.drop([1, 2])
    assert left < inner["width"].min()
    assert inner["width"].max() < right
    assert below < inner["height"].min()
    assert inner["height"].max() < above
    assert right - left < 3 * np.ptp(inner["width"])
    assert page.column("place", "far") == [1, 2]
    x, y = np.array(page.column("x", "far")), np.array(page.column("y", "far"))
    assert ((left < x) & (x < right) & (below < y) & (y < above)).all()
    assert x[0] - left < 0.05 * (right - left)  # the first at the left edge, the second at the top
    assert above - y[1] < 0.05 * (above - below)
    assert page.column("angle", "far") == pytest.approx([np.pi / 2, 0])
    button = page.find("#everything")
    assert button.text == "Show all rows: 2 far outside"
    button.click()
    page.wait_for_drawing()
    assert get_view(page)[0] < -999
    assert page.column("place", "far") == []
    assert not button.is_displayed()
    page.find("#most").click()
    page.wait_for_drawing()
    # the width of tick labels affects the scale
    assert get_view(page) == pytest.approx([left, right, below, above], rel=0.1)
    assert page.read_console() == []


def test_an_arrow_at_the_edge_names_its_row_and_widens_the_view_on_a_click(far_page):
    page, _ = far_page
    x, y = screen_position(page, page.column("x", "far")[0], page.column("y", "far")[0])
    mouse(page, "mouseMoved", x, y)
    page.wait_for_drawing()
    assert page.find("#tip").text.startswith("Row 1, far outside: width -999.")
    click(page, x, y)
    assert get_view(page)[0] < -999
    assert get_view(page)[3] < 500
    assert page.column("place", "far") == [2]
    assert "Row 1" in page.find("#point").text


def test_the_wheel_zooms_only_after_a_click_on_the_plot(alpha_page):
    page, _ = alpha_page
    x, y = screen_position(page, 4.0, 4.0)
    before = get_view(page)
    mouse(page, "mouseWheel", x, y, deltaX=0, deltaY=-120)
    page.wait_for_drawing()
    assert get_view(page) == before
    x, y = screen_position(page, 4.0, 4.0)
    click(page, x, y)
    mouse(page, "mouseWheel", x, y, deltaX=0, deltaY=-120)
    page.browser.execute_async_script("setTimeout(arguments[0], 300)")
    after = get_view(page)
    assert after[1] - after[0] < before[1] - before[0]
    page.find("#most").click()
    page.wait_for_drawing()
    assert get_view(page) == pytest.approx(before, rel=0.1)


def read_legend(page):
    """Return the names in the legend and their counts."""
    script = (
        "return [...document.querySelectorAll('#legend li')].map((line) =>"
        " [...line.querySelectorAll('span')].map((part) => part.textContent))"
    )
    return {name: int(count.replace(",", "")) for name, count in page.run(script)}


def drawn_rows(page):
    sizes = [np.array(page.column(name), dtype=float) for name in ("filled", "open")]
    return ~np.isnan(sizes[0]) | ~np.isnan(sizes[1])


def test_counts_of_the_legend_add_up_to_all_rows(alpha_page):
    page, _ = alpha_page
    for step in (0, len(page.levels) // 2, len(page.levels) - 20):
        page.slide("alpha", step)
        legend = read_legend(page)
        total = legend.pop("all rows", 240)
        legend.pop("of these rejected", None)
        assert total == sum(legend.values()) == 240


def test_the_legend_hides_a_cluster_or_all_others(alpha_page):
    page, model = alpha_page
    labels = model.labels_[page.rows]
    button = page.find("#legend button[data-label='1']")
    button.click()
    assert np.array_equal(drawn_rows(page), labels != 1)
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert drawn_rows(page).all()
    ActionChains(page.browser).double_click(button).perform()
    assert np.array_equal(drawn_rows(page), labels == 1)
    ActionChains(page.browser).double_click(button).perform()
    assert drawn_rows(page).all()
    ActionChains(page.browser).key_down(Keys.ALT).click(button).key_up(Keys.ALT).perform()
    assert np.array_equal(drawn_rows(page), labels == 1)
    page.slide("alpha", 0)  # none of the new clusters is hidden
    assert drawn_rows(page).all()


def test_opacity_increases_with_membership(alpha_page):
    page, model = alpha_page
    membership = rank_points(model)["membership"].to_numpy()[page.rows]
    assert page.column("alpha") == pytest.approx(0.2 + 0.75 * membership, abs=1e-6)


def test_forty_clusters_have_different_marks(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(84, 2))
    table = pd.DataFrame(X, columns=["a", "b"])
    model = PossibilisticCMeans(2, bandwidth=1.0).fit(table)
    ranks = rank_points(model).assign(label=np.arange(84) // 2, is_outlier=False)
    path = tmp_path / "page.html"
    write_report(path, model, table, ranks=ranks)
    page = Page(browser, path)
    page.slide("rejected", 0)
    found = set(zip(page.column("tone"), page.column("marker"), strict=True))
    assert len(found) == 42
    assert len(page.browser.find_elements(By.CSS_SELECTOR, "#legend button")) == 42


@pytest.fixture(scope="module")
def words_page(browser, table, tmp_path_factory):
    words = table.assign(
        kind=np.where(table["width"] > 3, "wide", "narrow"),
        money=np.exp(table["height"]),
        odd=[None if k % 3 else '=1,"x"' for k in range(len(table))],
    )
    words["nothing"] = np.nan
    path = tmp_path_factory.mktemp("words") / "page.html"
    model = PossibilisticCMeans(3).fit(table)
    write_report(path, model, table, table=words, title="Words")
    return path, words, model


def choose(page, name, text):
    """Select the option of a list that has this text."""
    script = (
        "const select = document.getElementById(arguments[0]);"
        "const found = [...select.options].find((option) => option.text === arguments[1]);"
        "select.value = found.value; select.dispatchEvent(new Event('change', {bubbles: true}))"
    )
    page.run(script, name, text)
    page.wait_for_drawing()


def test_coloring_by_text_shows_a_cross_table(browser, words_page):
    path, words, model = words_page
    page = Page(browser, path)
    assert not page.find("#compare").is_displayed()
    choose(page, "color", "kind")
    page.slide("rejected", 0)
    commonest = words["kind"].value_counts().index[0]
    assert np.array_equal(np.array(page.column("tone")) == 0, words["kind"] == commonest)
    score = adjusted_rand_score(words["kind"], model.labels_)
    assert f"Adjusted Rand index {score:.2f}" in page.find("#compare-words").text
    truth = pd.crosstab(model.labels_, words["kind"])
    lines = page.browser.find_elements(By.CSS_SELECTOR, "#compare-table tbody tr")
    heads = [cell.text for cell in page.browser.find_elements(By.CSS_SELECTOR, "#compare-table th")]
    assert len(lines) == len(truth) + 1
    for label, row in truth.iterrows():
        cells = lines[label].find_elements(By.TAG_NAME, "td")
        found = dict(zip(heads[1:3], (cell.text.replace("·", "0") for cell in cells), strict=False))
        assert {name: int(found[name]) for name in truth.columns} == row.to_dict()
        assert int(cells[-1].text) == row.sum()
    assert page.find("#key").text.splitlines()[0] == "kind"
    choose(page, "color", "cluster")
    assert not page.find("#key").is_displayed()
    assert page.read_console() == []


def test_coloring_by_numbers_uses_a_scale(browser, words_page):
    path, words, _ = words_page
    page = Page(browser, path)
    choose(page, "color", "money")
    tones = np.array(page.column("tone"))
    assert tones.min() == 7  # after the clusters' colors and the neutral one
    assert len(set(tones)) > 10
    order = np.argsort(words["money"].to_numpy()[page.rows], kind="stable")
    assert (np.diff(tones[order]) >= 0).all()
    low, _, high = page.find("#key .ends").text.split()
    assert words["money"].min() <= float(low) < float(high) <= words["money"].max()
    choose(page, "color", "nothing")
    assert set(page.column("tone")) == {6}
    assert page.read_console() == []


def test_axes_can_be_logarithmic(browser, words_page):
    path, words, _ = words_page
    page = Page(browser, path)
    choose(page, "up", "money")
    page.find("#log-up").click()
    page.wait_for_drawing()
    assert page.column("y") == pytest.approx(np.log10(words["money"]), rel=1e-5)
    assert page.run(f"return {FIGURE}.left[0].axis_label") == "money (logarithmic)"
    ticks = page.run(f"return Array.from({FIGURE}.left[0].ticker.ticks)")
    names = page.run(f"return Array.from({FIGURE}.left[0].major_label_overrides.values())")
    assert [float(name) for name in names] == pytest.approx([10**tick for tick in ticks])
    choose(page, "across", "width")  # has numbers below 0, which have no logarithm
    page.find("#log-across").click()
    page.wait_for_drawing()
    x = np.array(page.run("return Array.from(softkernReport.places().x, String)"), dtype=float)
    assert np.array_equal(np.isneginf(x), words["width"] <= 0)
    assert set(np.flatnonzero(words["width"] <= 0)) <= set(page.column("place", "far"))
    page.find("#log-across").click()
    page.find("#log-up").click()
    page.wait_for_drawing()
    assert page.column("y") == pytest.approx(words["money"], rel=1e-5)
    assert page.read_console() == []


def test_a_view_sets_both_axes(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 5))
    table = pd.DataFrame(X, columns=list("abcde"))
    path = tmp_path / "page.html"
    write_report(path, OneClassPCM(bandwidth=2.0).fit(table), table)
    page = Page(browser, path)
    assert "inner 98 %" in page.find("#view-help").text
    choose(page, "view", "neighbor map")
    assert page.run(f"return {FIGURE}.below[0].axis_label") == "neighbor map 1"
    assert page.run(f"return {FIGURE}.left[0].axis_label") == "neighbor map 2"
    assert "t-SNE" in page.find("#view-help").text
    choose(page, "up", "c")
    assert page.run("return document.getElementById('view').value") == ""
    assert page.read_console() == []


def tones_of_tree(page):
    return set(page.column("tone", "lines"))


def test_the_slider_sets_the_number_of_clusters(alpha_page, table):
    page, model = alpha_page
    offered = page.run("return softkernReport.numbers")
    assert len(offered) >= 3
    for step in range(3):
        page.slide("number", step)
        other = AlphaCutClustering(n_clusters=step + 1, bandwidth=model.bandwidth_)
        truth = other.fit(table)
        assert np.array_equal(page.labels(), truth.labels_[page.rows])
        assert f"Chosen number of clusters: {plural(step + 1)}; 0 of 240 rows" in page.state()
        assert page.find("#number").get_attribute("aria-valuetext") == plural(step + 1)
        assert read_legend(page).pop("all rows", 240) == 240
        assert set(range(step + 1)) <= tones_of_tree(page) <= {*range(step + 1), 6}
        assert page.find("#own").get_attribute("aria-pressed") == "false"
        assert page.find("#clusters .of-own").is_displayed()
    page.slide("alpha", 200)  # exactly at this level, including small clusters
    assert np.array_equal(page.labels(), model.labels_at(page.levels[200])[page.rows])
    page.slide("number", 1)
    page.find("#own").click()
    assert np.array_equal(page.labels(), model.labels_[page.rows])
    assert not page.find("#clusters .of-own").is_displayed()
    assert page.read_console() == []


def plural(clusters):
    return f"{clusters} cluster{'s' * (clusters != 1)}"


def test_thirty_equal_groups_are_cut_into_seven_clusters(browser, tmp_path):
    centers = 9.0 * np.array([divmod(k, 6) for k in range(30)])
    X = make_blobs([20] * 30, 2, centers=centers, cluster_std=0.8, random_state=0)[0]
    table = pd.DataFrame(X, columns=["east", "north"])
    model = AlphaCutClustering(bandwidth=1.0).fit(table)
    write_report(tmp_path / "page.html", model, table)
    page = Page(browser, tmp_path / "page.html")
    page.slide("number", 6)
    truth = AlphaCutClustering(n_clusters=7, bandwidth=1.0).fit(table)
    assert np.array_equal(page.labels(), truth.labels_[page.rows])
    assert "7 clusters; 0 of 600 rows" in page.state()
    assert page.read_console() == []


def test_the_plot_is_saved_as_it_is_shown(alpha_page):
    page, _ = alpha_page
    start = "data:image/png;base64,"
    whole = page.run("return softkernReport.picture()")
    assert whole.startswith(start)
    width, height = struct.unpack(">II", base64.b64decode(whole[len(start) :])[16:24])
    shown = page.find("#points").rect
    assert width > shown["width"]  # the legend is beside it
    assert height > 0.9 * shown["height"]
    page.find("#legend button[data-label='1']").click()
    page.wait_for_drawing()
    assert page.run("return softkernReport.picture()") != whole
    assert page.read_console() == []


def read_cells(page, name, head):
    heads = [cell.text for cell in page.browser.find_elements(By.CSS_SELECTOR, f"#{name}-table th")]
    script = (
        "return [...document.querySelectorAll(`#${arguments[0]}-table tbody tr`)]"
        ".filter((row) => !row.hidden).map((row) => row.cells[arguments[1]].textContent)"
    )
    return page.run(script, name, [head_.split(" ▲")[0] for head_ in heads].index(head))


def test_tables_have_all_columns_and_can_be_sorted_and_searched(browser, words_page):
    path, words, _ = words_page
    page = Page(browser, path)
    rows = [int(row) for row in read_cells(page, "outliers", "row")]
    assert len(rows) == 100
    assert read_cells(page, "outliers", "kind") == words["kind"][rows].tolist()
    values = np.array(read_cells(page, "outliers", "money"), dtype=float)
    assert values == pytest.approx(words["money"][rows], rel=1e-6)
    heads = page.browser.find_elements(By.CSS_SELECTOR, "#outliers-table th")
    head = next(cell for cell in heads if cell.text == "money")
    button = head.find_element(By.TAG_NAME, "button")
    page.run("arguments[0].click()", button)
    assert np.array(read_cells(page, "outliers", "money"), float) == pytest.approx(np.sort(values))
    assert head.get_attribute("aria-sort") == "ascending"
    page.run("arguments[0].click()", button)
    sorted_ = np.array(read_cells(page, "outliers", "money"), float)
    assert sorted_ == pytest.approx(np.sort(values)[::-1])
    page.find("#outliers-search").send_keys("WIDE")
    wide = (words["kind"][rows] == "wide").sum()
    assert set(read_cells(page, "outliers", "kind")) == {"wide"}
    assert page.find("#outliers-found").text == f"{wide} of 100 rows"
    text = io.StringIO(page.run("return softkernReport.csv('outliers')"))
    saved = pd.read_csv(text, dtype={"money": str}).astype({"money": float})
    assert len(saved) == wide
    assert set(words.columns) <= set(saved.columns)
    assert saved["money"].tolist() == words["money"][saved["row"]].tolist()  # all digits
    assert saved["odd"].dropna().tolist() == words["odd"][saved["row"]].dropna().tolist()
    assert {"cluster", "why", "grade"} <= set(saved.columns)
    assert page.read_console() == []


def test_overlap_points_name_two_clusters(browser, words_page):
    path, _, model = words_page
    page = Page(browser, path)
    between = read_cells(page, "overlaps", "between")
    rows = [int(row) for row in read_cells(page, "overlaps", "row")]
    first_two = np.sort(np.argsort(-model.memberships_[rows], axis=1)[:, :2], axis=1)
    assert between
    assert between == [f"{one} and {two}" for one, two in first_two]


def test_the_tab_key_reaches_every_control(alpha_page):
    page, _ = alpha_page
    reached = []
    body = ActionChains(page.browser)
    page.run("document.activeElement.blur()")
    for _ in range(40):
        body.send_keys(Keys.TAB).perform()
        reached.append(page.run("const e = document.activeElement; return e.id || e.tagName"))
    wanted = [
        "alpha",
        "number",
        "own",
        "rejected",
        "across",
        "up",
        "color",
        "points",
        "save",
        "TR",
    ]
    assert [name for name in wanted if name in reached] == wanted


def test_rejection_grays_out_the_top_ranks(alpha_page):
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


def test_a_focused_row_of_a_table_is_marked_in_the_plot(alpha_page, table):
    page, model = alpha_page
    first = int(np.argmin(rank_points(model)["outlier_rank"]))
    row = page.find("#outliers-table tbody tr")
    assert row.text.split()[:2] == ["1", str(first)]
    page.run("arguments[0].focus()", row)
    assert page.column("x", "ring") == pytest.approx([table["width"][first]])
    assert page.column("y", "ring") == pytest.approx([table["height"][first]])
    assert f"Row {first}" in page.find("#point").text
    assert "width" in page.find("#point").text


def test_pointing_at_a_row_shows_its_values(alpha_page, table):
    page, model = alpha_page
    first = int(np.argmin(rank_points(model)["outlier_rank"]))  # nothing else is near it
    x, y = screen_position(page, *table.iloc[first])
    mouse(page, "mouseMoved", x, y)
    page.wait_for_drawing()
    assert page.find("#tip").text.startswith(f"Row {first}: ")
    assert page.column("x", "ring") == pytest.approx([table["width"][first]])


def test_other_axes_can_be_chosen(alpha_page):
    page, _ = alpha_page
    page.find("#up").send_keys("typ")
    page.wait_for_drawing()
    figure = "Bokeh.documents[0].get_model_by_name('points figure')"
    assert page.run(f"return {figure}.left[0].axis_label") == "typicality"
    assert max(page.column("y")) < 1


def test_untrusted_names_run_no_script(browser, table, tmp_path):
    X = table.rename(columns={"width": MARKUP, "height": "<b onclick=window.hacked=1>h</b>"})
    model = AlphaCutClustering().fit(table)
    path = tmp_path / "page.html"
    write_report(
        path,
        model,
        X,
        ranks=rank_points(model),
        title=MARKUP,
        ids=[f"{MARKUP}{k}" for k in range(len(X))],
        table=X.assign(**{f"{MARKUP} words": np.where(np.arange(len(X)) % 2, MARKUP, "b")}),
        details={MARKUP: MARKUP, "nested": {MARKUP: [MARKUP]}},
    )
    page = Page(browser, path)
    for row in browser.find_elements(By.CSS_SELECTOR, "#outliers-table tbody tr")[:3]:
        page.run("arguments[0].focus()", row)
    page.find("#across").send_keys("out")
    for value in ("known 0", "axis 0"):
        page.run(
            "const s = document.getElementById('color'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('change', {bubbles: true}))",
            value,
        )
        page.run("softkernReport.picture()")
    page.find("#outliers-search").send_keys("script")
    page.run("document.querySelectorAll('#outliers-table th button').forEach((b) => b.click())")
    page.slide("alpha", 40)
    assert page.read_console() == []
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    # the second line of defense: an injected script would not run
    page.run(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 2';"
        "document.body.append(s); document.body.insertAdjacentHTML('beforeend',"
        " '<img src=x onerror=window.hacked=3>')"
    )
    page.wait_for_drawing()
    assert page.run("return window.hacked ?? null") is None
    assert MARKUP[:20] in page.find("h1").text
    assert MARKUP[:20] in page.find("#outliers-table thead").text
    messages = page.read_console()
    assert messages
    assert all("Content Security Policy" in text for text in messages)


@pytest.mark.parametrize("kind", [OneClassPCM, PossibilisticCMeans])
def test_models_without_a_tree_have_no_level_slider(kind, browser, table, tmp_path):
    model = kind().fit(table)
    path = tmp_path / "page.html"
    write_report(path, model, table, ranks=rank_points(model), title="No tree")
    page = Page(browser, path)
    page.slide("rejected", 5)
    assert "5 " in page.state()
    assert not browser.find_elements(By.ID, "alpha")
    assert page.read_console() == []


def test_dark_mode_and_narrow_screens(alpha_page):
    page, _ = alpha_page
    axis = "Bokeh.documents[0].get_model_by_name('points figure').below[0]"
    ink = {}
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        page.wait_for_drawing()
        ground = page.run("return getComputedStyle(document.body).backgroundColor")
        ink[scheme] = page.run(f"return {axis}.axis_label_text_color"), ground
    assert ink["light"] != ink["dark"]
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    phone = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
    page.wait_for_drawing()
    assert page.run("return document.documentElement.scrollWidth") <= 360
    plot, slider = (page.find(name).rect for name in ("#points", "#alpha"))
    assert 0 < slider["y"] - plot["y"] < 740  # both are visible at once
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_listed_rows_have_reasons(browser, table, tmp_path):
    X = table.copy()
    X.loc[3, "height"] = 60.0
    path = tmp_path / "page.html"
    model = PossibilisticCMeans(3).fit(X)
    write_report(path, model, X, title="Why")
    page = Page(browser, path)
    page.wait_for_drawing()
    heads = [
        cell.text for cell in page.browser.find_elements(By.CSS_SELECTOR, "#outliers-table th")
    ]
    assert heads[:6] == ["rank", "row", "grade", "why", "cluster", "outlier score"]
    first = page.find("#outliers-table tbody tr")
    cells = [cell.text for cell in first.find_elements(By.TAG_NAME, "td")]
    assert cells[1] == "3"
    assert cells[2] == "extreme"
    assert cells[3].startswith("height 60, usual ")
    articles = page.browser.find_elements(By.CSS_SELECTOR, "#clusters article")
    assert len(articles) == 3
    assert articles[0].text.startswith("cluster 0: ")
    assert page.read_console() == []


def test_dates_are_shown_as_dates(browser, tmp_path):
    generator = np.random.default_rng(0)
    days = pd.date_range("2023-01-01", periods=200).to_series(index=range(200))
    amount = generator.normal(np.where(np.arange(200) < 100, 10.0, 40.0))
    written = pd.DataFrame({"paid on": days.astype(str), "amount": amount})
    prepared = TablePreparation(dates=True).fit_prepare(written)
    model = PossibilisticCMeans(2).fit(prepared.values)
    ranks, rows = rank_points(model), view_prepared(prepared)
    explainer = Explainer(model, rows, Ranker(model).score_points(), ranks)
    write_report(tmp_path / "page.html", model, prepared.features, ranks=ranks, explainer=explainer)
    page = Page(browser, tmp_path / "page.html")
    marks = page.run(f"return [...{FIGURE}.below[0].major_label_overrides.values()]")
    assert len(marks) >= 3
    assert set(marks) <= {f"{day:%Y-%m}" for day in pd.date_range("2022", "2024", freq="MS")}
    assert not page.find("#log-across").is_enabled()
    row = page.find("#outliers-table tbody tr")
    page.run("arguments[0].focus()", row)
    place = int(row.get_attribute("data-place"))
    assert written["paid on"][place] in page.find("#point").text
    choose(page, "color", "paid on")
    assert page.find("#key").text.count("2023-") == 3
    # from years to hours, as the view narrows
    for width, mark in ((4000, "2022"), (40, "2023-01-02"), (0.5, "2023-01-01 12:00")):
        script = f"{FIGURE}.x_range.setv({{ start: 19358.2, end: 19358.2 + arguments[0] }})"
        page.run(script, width)
        page.wait_for_drawing()
        marks = page.run(f"return [...{FIGURE}.below[0].major_label_overrides.values()]")
        assert 2 <= len(marks) <= 14
        assert all(len(one) == len(mark) for one in marks)
    assert page.read_console() == []


def test_controls_are_large_enough_for_a_thumb(browser, written):
    path, _ = written
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True},
    )
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        page = Page(browser, path)
        script = (
            "return [...document.querySelectorAll('button, select, input')]"
            ".map((e) => (e.closest('label') ?? e).getBoundingClientRect())"
            ".filter(({ height }) => height > 0).map(({ height }) => height)"
        )
        heights = page.run(script)
        assert len(heights) > 15
        for link in browser.find_elements(By.CSS_SELECTOR, ".contents a"):
            assert link.rect["height"] >= 40
            assert page.find(link.get_attribute("hash")).is_displayed()
        assert min(heights) >= 44
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.run(wide) == 0
        # reasons are visible without scrolling
        why = page.find("#outliers-table td.why").rect
        assert why["x"] + why["width"] <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_results_are_readable_without_scripts(browser, written):
    path, model = written
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(path.as_uri())
        text = browser.find_element(By.TAG_NAME, "body").text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert "240 rows in 3 clusters" in text
    assert "JavaScript, which is switched off" in text
    assert "cluster 2: " in text
    first = int(np.argmin(rank_points(model)["outlier_rank"]))
    assert f"\n{first} width 12" in text or f"\n{first} height 12" in text
    assert "Cut the clusters" not in text  # no controls that need scripts


def test_a_table_is_one_tab_stop_and_arrow_keys_move_between_its_rows(browser, words_page):
    path, _, _ = words_page
    page = Page(browser, path)
    stops = "return document.querySelectorAll('#outliers-table tr[tabindex=\"0\"]').length"
    assert page.run(stops) == 1
    first = page.find("#outliers-table tbody tr")
    page.run("arguments[0].focus()", first)
    rank = "return document.activeElement.cells[0].textContent"
    keys = (Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.END, Keys.ARROW_DOWN, Keys.HOME)
    ranks = []
    for key in keys:
        ActionChains(page.browser).send_keys(key).perform()
        ranks.append(page.run(rank))
        assert page.run(stops) == 1
    assert ranks == ["2", "3", "2", "100", "100", "1"]
    place = int(page.run("return document.activeElement.dataset.place"))
    assert f"Row {place}" in page.find("#point").text
    page.find("#outliers-search").send_keys("wide")
    hidden = "return document.querySelector('#outliers-table tr[tabindex=\"0\"]').hidden"
    assert page.run(hidden) is False


def test_keys_hide_all_clusters_but_one(alpha_page):
    page, model = alpha_page
    button = page.find("#legend button[data-label='1']")
    assert button.get_attribute("aria-label") == f"cluster 1, {(model.labels_ == 1).sum()} rows"
    page.run("arguments[0].focus()", button)
    ActionChains(page.browser).key_down(Keys.ALT).send_keys(Keys.ENTER).key_up(Keys.ALT).perform()
    assert np.array_equal(drawn_rows(page), model.labels_[page.rows] == 1)


def test_the_printed_page_contains_an_image_of_the_plot(alpha_page):
    page, _ = alpha_page
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        page.run("dispatchEvent(new Event('beforeprint'))")
        page.wait_for_drawing()
        image = page.find("img.printed")
        assert image.is_displayed()
        assert image.get_property("naturalWidth") > 300
        assert image.get_attribute("alt").startswith("Scatter plot of 240 rows")
        assert not page.find("#points").is_displayed()
        page.run("dispatchEvent(new Event('afterprint'))")
        assert page.find("#points").is_displayed()
    finally:
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert not page.find("img.printed").is_displayed()
    assert page.read_console() == []


def test_tick_labels_do_not_overlap(browser, table, tmp_path):
    wide = table.assign(width=1e6 * table["width"] - 3e6)
    write_report(tmp_path / "page.html", AlphaCutClustering(bandwidth=0.8).fit(table), wide)
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        page = Page(browser, tmp_path / "page.html")
        script = (
            f"const f = {FIGURE}, {{ ticker }} = f.below[0], {{ start, end }} = f.x_range;"
            "const ticks = ticker.get_ticks_no_defaults(start, end, NaN, ticker.desired_num_ticks);"
            "return [ticks.major, f.inner_width]"
        )
        ticks, pixels = page.run(script)
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert 2 <= len(ticks) <= pixels / (6 * len(f"{max(ticks, key=abs):.0f}"))


def test_a_single_column_is_plotted_against_typicality(browser, table, tmp_path):
    one = table[["width"]]
    model = AlphaCutClustering().fit(one)
    write_report(tmp_path / "page.html", model, one)
    page = Page(browser, tmp_path / "page.html")
    assert page.column("x") == pytest.approx(one["width"].to_numpy(), abs=1e-5)
    assert page.column("y") == pytest.approx(model.typicality_, rel=1e-6)
    assert page.read_console() == []


def test_the_number_of_clusters_with_weights_and_duplicates(browser, table, tmp_path):
    X = pd.concat([table.round(1), table.round(1)[:90]], ignore_index=True)
    weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    model = AlphaCutClustering(bandwidth=0.8).fit(X, sample_weight=weight)
    write_report(tmp_path / "page.html", model, X)
    page = Page(browser, tmp_path / "page.html")
    for count in (1, 2, 3):
        page.slide("number", count - 1)
        other = AlphaCutClustering(n_clusters=count, bandwidth=0.8).fit(X, sample_weight=weight)
        assert np.array_equal(page.labels(), other.labels_[page.rows])
        legend = read_legend(page)
        assert [legend[f"cluster {k}"] for k in range(count)] == np.bincount(other.labels_).tolist()


def test_empty_columns_of_tables_are_left_out(browser, alpha_page, tmp_path):
    page, _ = alpha_page
    assert "grade" in page.find("#outliers-table thead").text
    X = pd.DataFrame(np.random.default_rng(0).uniform(size=(80, 2)), columns=["a", "b"])
    model = OneClassPCM().fit(X)
    assert not rank_points(model)["is_outlier"].any()
    write_report(tmp_path / "page.html", model, X)
    head = Page(browser, tmp_path / "page.html").find("#outliers-table thead").text
    assert "grade" not in head
    assert "why" in head


def test_details_of_the_computation_are_shown_on_demand(alpha_page):
    page, _ = alpha_page
    assert not page.find("#computed dl").is_displayed()
    page.find("#computed summary").click()
    assert "alpha-cut" in page.find("#computed").text
