"""The report, as a browser draws it: bars have height, points lie where the data says, nothing overflows, wide and narrow, light
and dark. Where there is no Chromium the SVG's own numbers are checked instead."""

import html.parser
import json
import re
import shutil
import subprocess

import pytest
import tuning_logs

import tensorwright as tw

CHROMIUM = next((p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None)
pytestmark = pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="built without LLVM: nothing to tune, nothing to report")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium (./dev setup --peers installs it)")

SECONDS = [4e-3, 8e-3, 2e-3, None, 3e-3, 1e-3, None, 1.6e-3, 5e-3, 1.25e-3]  # None: failed
FLOPS = 2.0 * 64 * 64 * 64 * 1000
WIDTHS = (400, 1200)

MEASURE = """
<script>
const box = e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; };
const data = e => ({box: box(e), style: e.getAttribute("class"), fill: getComputedStyle(e).fill, ...e.dataset,
                    text: e.textContent, anchor: e.getAttribute("text-anchor")});
const drawing = s => ({kind: s.getAttribute("class"), box: box(s), circles: [...s.querySelectorAll("circle")].map(data),
    bars: [...s.querySelectorAll("rect")].map(data), texts: [...s.querySelectorAll("text")].map(data)});
const measure = d => ({scroll: d.documentElement.scrollWidth, client: d.documentElement.clientWidth,
    svgs: [...d.querySelectorAll("svg")].map(drawing), cards: [...d.querySelectorAll(".card")].map(box),
    facts: [...d.querySelectorAll(".facts li")].map(e => e.innerText.trim().replace(/\\s+/g, " ")),
    text: d.body.innerText, ink: getComputedStyle(d.body).color, page: getComputedStyle(d.body).backgroundColor});
addEventListener("load", async () => {
  const out = {};
  for (const width of WIDTHS) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width:${width}px;height:900px;border:0`;
    const loaded = new Promise(done => frame.onload = done);
    frame.srcdoc = PAGE;
    document.body.append(frame);
    await loaded;
    out[width] = measure(frame.contentDocument);
  }
  const p = document.createElement("pre");
  p.id = "measured";
  p.textContent = JSON.stringify(out);
  document.body.append(p);
});
</script>
"""


def make_log(path):
    """Ten trials of a small matmul with known times; a log has no schedule of a stock operator's if its hash differs."""
    task = tw.autotune.Task.stock("matmul", {"M": 64, "N": 64, "K": 64}, target="llvm -mcpu=native")
    subject = {"hash": task._core.hash(), "name": "matmul", "args": task.args, "flops": FLOPS, "bytes": 3 * 64 * 64 * 4.0,
               "target": str(task.target)}
    hardware = tw._core._host_hardware()
    lines = []
    for n, seconds in enumerate(SECONDS):
        knobs = {"tile": [4 if n % 2 else 8, 16], "unroll": n % 3, "a <b> & \"c\"": n}
        if seconds is None:
            lines.append(tuning_logs.line(subject, n, status="crashed" if n == 3 else "timeout", seconds=0, knobs=knobs, hardware=hardware,
                                          detail="signal 11 <script>alert(1)</script>"))
        else:
            lines.append(tuning_logs.line(subject, n, status="beaten" if n == 8 else "ok", seconds=seconds, knobs=knobs, hardware=hardware,
                                          pruned=3 * n))
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    log = make_log(tmp_path_factory.mktemp("report") / "m.jsonl")
    return tw.autotune.report(log)


def browse(page, folder, *flags):
    """What a browser makes of the page: a dict by width."""
    script = MEASURE.replace("WIDTHS", json.dumps(WIDTHS)).replace("PAGE", json.dumps(page).replace("</", "<\\/"))
    file = folder / "measured.html"
    file.write_text(f"<!doctype html><html><body>{script}</body></html>")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
               "--virtual-time-budget=10000", *flags, "--dump-dom", file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search(r'<pre id="measured">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    import html

    return {int(width): seen for width, seen in json.loads(html.unescape(found[1])).items()}


@pytest.fixture(scope="module")
def drawn(page, tmp_path_factory):
    return browse(page, tmp_path_factory.mktemp("browser"))


def chart(seen, kind):
    (svg,) = [s for s in seen["svgs"] if kind in s["kind"].split()]
    return svg


def scale_from_ticks(svg, across):
    """Pixels from values, by the axis's own labels: (slope, offset)."""
    ticks = []
    for t in svg["texts"]:
        if t["style"] == "tick" and t["anchor"] == ("middle" if across else "end"):
            left, top, width, height = t["box"]
            ticks.append((float(t["text"]), left + width / 2 if across else top + height / 2))
    (v0, p0), (v1, p1) = min(ticks), max(ticks)
    slope = (p1 - p0) / (v1 - v0)
    return slope, p0 - slope * v0


class Elements(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.all = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.all.append((tag, dict(attributes)))


class TestText:
    def test_one_file_that_fetches_nothing(self, page):
        elements = Elements(page).all
        assert not [a for tag, a in elements if tag in ("script", "link", "img", "iframe") or "src" in a or "href" in a]
        assert "url(" not in page and "http" not in page.replace("http://www.w3.org", "")

    def test_says_what_was_found(self, page):
        assert "matmul(M=64" in page and "524.3 GFLOP/s" in page
        assert "te.create_schedule" in page and "for (" in page  # as Python and as C
        assert "never built" in page
        assert "&lt;script&gt;alert(1)" in page and "<script" not in page

    def test_the_svg_has_the_data(self, page):
        circles = [a for tag, a in Elements(page).all if tag == "circle"]
        curve = {int(float(a["data-x"])): float(a["data-y"]) for a in circles if float(a["cx"]) >= 60 and a["data-x"].isdigit()}
        for n, seconds in enumerate(SECONDS, 1):
            if seconds:
                assert curve[n] == pytest.approx(FLOPS / seconds / 1e9, rel=1e-3)
        bars = [a for tag, a in Elements(page).all if tag == "rect"]
        assert bars and all(float(a["width"]) > 0 and float(a["height"]) > 0 for a in bars)

    def test_a_task_without_its_computation_has_charts_and_says_why_there_is_no_code(self, tmp_path):
        task = tuning_logs.plain_task()
        (tmp_path / "p.jsonl").write_text("".join(tuning_logs.line(task, n, seconds=1e-3 * (n + 1)) for n in range(3)))
        page = tw.autotune.report(tmp_path / "p.jsonl", tmp_path / "p.html")
        text = page.read_text()
        assert "chart curve" in text and "The log holds the schedule" in text and "chart roofline" not in text

    def test_errors(self, tmp_path):
        (tmp_path / "empty.jsonl").write_text("")
        with pytest.raises(tw.NoRecord, match="no measurement"):
            tw.autotune.report(tmp_path / "empty.jsonl")
        with pytest.raises(tw.LogError):
            tw.autotune.report(tmp_path / "none.jsonl")
        with pytest.raises(tw.ArgumentError, match="cannot be written"):
            tw.autotune.report(make_log(tmp_path / "m.jsonl"), tmp_path / "no" / "page.html")


@needs_browser
class TestDrawn:
    @pytest.mark.parametrize("width", WIDTHS)
    def test_nothing_overflows(self, drawn, width):
        seen = drawn[width]
        assert seen["scroll"] <= seen["client"]
        for left, _, wide, high in seen["cards"]:
            assert left >= 0 and left + wide <= seen["client"] and high > 20
        for svg in seen["svgs"]:
            left, top, wide, high = svg["box"]
            assert wide > 300
            for mark in svg["texts"] + svg["circles"] + svg["bars"]:
                x, y, w, h = mark["box"]
                assert left - 1 <= x and x + w <= left + wide + 1, (svg["kind"], mark)
                assert top - 1 <= y and y + h <= top + high + 1, (svg["kind"], mark)

    @pytest.mark.parametrize("width", WIDTHS)
    def test_text_can_be_read(self, drawn, width):
        for svg in drawn[width]["svgs"]:
            for text in svg["texts"]:
                w, h = text["box"][2:]
                assert max(w, h) > 0 and (text["style"] == "axis-title" or round(h, 2) >= 8), text  # boxes are rounded

    @pytest.mark.parametrize("width", WIDTHS)
    def test_labels_of_an_axis_do_not_touch(self, drawn, width):
        for kind in ("curve", "roofline"):
            texts = [t for t in chart(drawn[width], kind)["texts"] if t["style"] == "tick"]
            for i, a in enumerate(texts):
                for b in texts[i + 1:]:
                    apart = (a["box"][0] + a["box"][2] <= b["box"][0] or b["box"][0] + b["box"][2] <= a["box"][0]
                             or a["box"][1] + a["box"][3] <= b["box"][1] + 3 or b["box"][1] + b["box"][3] <= a["box"][1] + 3)
                    assert apart, (kind, a, b)

    @pytest.mark.parametrize("width", WIDTHS)
    def test_the_curve_lies_where_the_data_says(self, drawn, width):
        svg = chart(drawn[width], "curve")
        (ax, bx), (ay, by) = scale_from_ticks(svg, True), scale_from_ticks(svg, False)
        points = {int(float(c["x"])): c["box"] for c in svg["circles"]}
        assert len(points) == len([s for s in SECONDS if s])
        for n, seconds in enumerate(SECONDS, 1):
            if seconds:
                x, y, w, h = points[n]
                assert x + w / 2 == pytest.approx(ax * n + bx, abs=1.5)
                assert y + h / 2 == pytest.approx(ay * FLOPS / seconds / 1e9 + by, abs=2.5)
        assert len([b for b in svg["bars"] if "failed" in b["style"]]) == 2

    @pytest.mark.parametrize("width", WIDTHS)
    def test_bars_are_as_long_as_they_should_be(self, drawn, width):
        bars = {b["count"]: b["box"] for b in chart(drawn[width], "failures")["bars"]}
        assert bars["1"][2] > 100 and bars["1"][3] > 8
        knobs = chart(drawn[width], "knobs")["bars"]
        full = max(b["box"][2] for b in knobs)
        for bar in knobs:
            assert bar["box"][2] == pytest.approx(full * float(bar["share"]), abs=1.5) and bar["box"][3] > 5
        assert any("winner" in b["style"] for b in knobs)

    def test_facts_and_roofline(self, drawn):
        seen = drawn[1200]
        assert {"1 ms best time of one call", "10 measured", "2 failed"} <= set(seen["facts"])
        roofline = chart(seen, "roofline")
        assert len(roofline["circles"]) == 7 and [c for c in roofline["circles"] if "winner" in c["style"]]
        assert any(t["text"].startswith("peak") for t in roofline["texts"])

    def test_dark_mode(self, page, drawn, tmp_path):
        dark = browse(page, tmp_path, "--blink-settings=preferredColorScheme=0")

        def brightness(colour):
            return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3

        for width in WIDTHS:
            assert brightness(drawn[width]["page"]) > 230 > 80 > brightness(drawn[width]["ink"])
            assert brightness(dark[width]["page"]) < 40 < 200 < brightness(dark[width]["ink"])
            light_mark, dark_mark = (chart(seen[width], "curve")["circles"][0]["fill"] for seen in (drawn, dark))
            assert light_mark != dark_mark
            assert dark[width]["scroll"] <= dark[width]["client"]

    def test_screenshot(self, page, tmp_path):
        (tmp_path / "page.html").write_text(page)
        shot = tmp_path / "page.png"
        subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile", "--hide-scrollbars",
                        "--window-size=1200,1600", f"--screenshot={shot}", (tmp_path / "page.html").as_uri()],
                       capture_output=True, timeout=120, check=True)
        assert shot.read_bytes().startswith(b"\x89PNG") and shot.stat().st_size > 20_000  # a blank page takes a tenth
