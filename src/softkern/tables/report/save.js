// The visible chart of the rows as PNG, with its legend.

const BESIDE = 230; // pixels for the legend
const LINE = 20;

function pictureCanvas() {
  const view = Bokeh.index.find_one_by_id(views.points.figure.id);
  const layer = view.export("png", true).canvas;
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [layer.width / ratio, layer.height / ratio];
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  const canvas = element("canvas");
  canvas.width = (width + BESIDE) * ratio;
  canvas.height = (height + LINE) * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.fillStyle = color("card");
  pen.fillRect(0, 0, width + BESIDE, height + LINE);
  pen.drawImage(layer, 0, 0, width, height);
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  pen.fillStyle = color("soft");
  pen.fillText(document.title, 8, height + 14, width);
  writeLegend(pen, width + 12, height, color("ink"));
  return canvas;
}

// Legend entries: marker, name, count.
function writeLegend(pen, left, height, ink) {
  let top = LINE;
  for (const entry of document.querySelectorAll("#key h3, #key li, #key .ends, #legend li")) {
    if (entry.closest("[hidden]") || top > height - LINE) continue;
    const path = entry.querySelector("path");
    if (path) {
      pen.save();
      pen.translate(left, top - 12);
      const shape = new Path2D(path.getAttribute("d"));
      pen.strokeStyle = path.getAttribute("stroke");
      pen.lineWidth = 2;
      pen.stroke(shape);
      if (path.getAttribute("fill") !== "none") {
        pen.fillStyle = path.getAttribute("fill");
        pen.fill(shape);
      }
      pen.restore();
    }
    pen.fillStyle = ink;
    const parts = [...entry.querySelectorAll("span")].map((part) => part.textContent);
    pen.fillText(parts.length ? parts.join("  ") : entry.textContent, left + (path ? 22 : 0), top, BESIDE - 40);
    top += LINE;
    if (entry.matches("#key h3") && colored().kind === "axis") top = writeScale(pen, left, top);
  }
}

function writeScale(pen, left, top) {
  scale.forEach((tone, k) => {
    pen.fillStyle = tone;
    pen.fillRect(left + (k * (BESIDE - 40)) / scale.length, top - 12, (BESIDE - 40) / scale.length + 1, 10);
  });
  return top + LINE - 2;
}

// Print an image of the chart, because paper has another width than the screen.
function listenToPrinter() {
  const image = element("img", { className: "printed", alt: "" });
  byId("points").parentElement.after(image);
  addEventListener("beforeprint", () => {
    image.src = pictureCanvas().toDataURL("image/png");
    image.alt = byId("points").getAttribute("aria-label");
    document.body.classList.add("printing");
  });
  addEventListener("afterprint", () => document.body.classList.remove("printing"));
}

function savePicture() {
  pictureCanvas().toBlob((blob) => download(fileName("rows.png"), blob), "image/png");
}
