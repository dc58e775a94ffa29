"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.documentElement.classList.add("scripted");

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const font = () => "12px " + getComputedStyle(document.body).fontFamily;

  // Three significant digits in a suitable unit, as in the tables.
  function time(us) {
    if (us == null) return "–";
    const [unit, scale] = us >= 999500 ? ["s", 1e6] : us >= 999.5 ? ["ms", 1e3] : ["µs", 1];
    const value = us / scale;
    const digits = value === 0 ? 0 : Math.min(3, Math.max(0, 2 - Math.floor(Math.log10(value))));
    return value.toFixed(digits) + "\u202f" + unit;
  }
  const thousands = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, n >= 10000 ? "," : "");
  const rate = (n) => (n == null ? "–" : thousands(n) + "/s");

  // A percentile with one more digit than its nines.
  const level = (q) => +(100 * q).toFixed(Math.max(0, Math.ceil(-Math.log10(1 - q) - 1e-6) - 1));

  function axis(ticks, extra) {
    return {
      stroke: css("muted"), font: font(), gap: 6,
      grid: { stroke: css("line"), width: 1 }, ticks: { stroke: css("line"), width: 1, size: 4 },
      splits: ticks && (() => ticks.map((t) => t[0])), values: ticks && (() => ticks.map((t) => t[1])),
      filter: ticks && ((u, splits) => splits), ...extra,
    };
  }
  // A logarithmic time axis: 1, 2, 5 times the powers of ten, without overlapping labels.
  function timeAxis() {
    const ticks = (low, high) => {
      const out = [];
      const steps = high / low > 2000 ? [1] : [1, 2, 5];
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
        for (const step of steps) out.push(+(step * 10 ** power).toPrecision(3));
      }
      const inside = out.filter((v) => v >= low * 0.999 && v <= high * 1.001);
      if (inside.length > 1) return inside;
      // For a range of less than about a factor of two: round steps, as on a linear axis.
      const power = 10 ** Math.floor(Math.log10((high - low) / 5));
      const step = [1, 2, 5, 10].find((m) => m * power * 5 >= high - low) * power;
      const even = [];
      for (let v = Math.ceil(low / step) * step; v <= high; v += step) even.push(+v.toPrecision(6));
      return even;
    };
    return axis(null, {
      size: 62,
      splits: (u, i, low, high) => ticks(low, high),
      filter: (u, splits) => splits,
      values: (u, splits) => {
        let last = Infinity;
        return splits.map((v) => {
          const at = u.valToPos(v, "y");
          if (last - at < 15) return "";
          last = at;
          const [unit, scale] = v >= 1e6 ? ["s", 1e6] : v >= 1e3 ? ["ms", 1e3] : ["µs", 1];
          return +(v / scale).toPrecision(4) + "\u202f" + unit;
        });
      },
    });
  }
  // A margin around the shown values, and at least a factor of two.
  function aired(u, low, high) {
    if (low == null || !(low > 0)) return [1, 10];
    low /= 1.15;
    high *= 1.15;
    const middle = Math.sqrt(low * high);
    return high / low < 2 ? [middle / Math.SQRT2, middle * Math.SQRT2] : [low, high];
  }
  const legend = { markers: { width: 0, fill: (u, i) => (i ? u.series[i].stroke(u, i) : "transparent") } };
  function line(label, color, extra) {
    return {
      label, stroke: css(color), width: 2, spanGaps: false, points: { show: false },
      value: (u, v) => time(v), ...extra,
    };
  }
  // A curve with a single value is invisible as a line.
  const dots = (values) => ({ show: values.filter((v) => v != null).length === 1, size: 7 });

  function tailChart(box, width) {
    const d = data.tail;
    const height = width < 500 ? 300 : 360;
    const names = { latency: "latency", service: "service latency", send_delay: "send delay" };
    const dashes = { service: [7, 3], send_delay: [2, 3] };
    const shown = Object.keys(names).filter((name) => d.curves[name]);
    const runCurves = (u) => {
      if (u.series[1] && !u.series[1].show) return;
      const c = u.ctx;
      c.save();
      c.beginPath();
      c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
      c.clip();
      c.strokeStyle = css("run");
      c.lineWidth = uPlot.pxRatio;
      for (const run of d.runs) {
        c.beginPath();
        let open = false;
        run.us.forEach((us, i) => {
          if (us == null) { open = false; return; }
          const x = u.valToPos(d.x[i], "x", true), y = u.valToPos(us, "y", true);
          if (open) c.lineTo(x, y); else c.moveTo(x, y);
          open = true;
        });
        c.stroke();
      }
      c.restore();
    };
    const single = d.runs.flatMap((run) => run.us).filter((us) => us > 0);
    const top = Math.max(...single), bottom = Math.min(...single);
    // The curves of single runs are hidden together with latency, and then need no space.
    const withRuns = (u, low, high) => {
      const shown = single.length && (!u.series[1] || u.series[1].show);
      return shown ? aired(u, Math.min(low ?? bottom, bottom), Math.max(high ?? top, top)) : aired(u, low, high);
    };
    const limits = (u) => {
      for (const [name, [x, percentile]] of Object.entries(d.infinite)) {
        const c = u.ctx, at = u.valToPos(x, "x", true);
        c.save();
        c.strokeStyle = c.fillStyle = css(name);
        c.setLineDash([4 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
        c.beginPath(); c.moveTo(at, u.bbox.top); c.lineTo(at, u.bbox.top + u.bbox.height); c.stroke();
        c.font = 12 * uPlot.pxRatio + "px " + getComputedStyle(document.body).fontFamily;
        c.textAlign = "right"; c.textBaseline = "top";
        c.fillText(name + " ∞ from p" + percentile, at - 6 * uPlot.pxRatio, u.bbox.top + 4);
        c.restore();
      }
    };
    return new uPlot({
      width, height,
      legend, cursor: { y: false, drag: { setScale: false, x: false } },
      scales: { x: { time: false, range: [0, d.end] }, y: { distr: 3, range: withRuns } },
      axes: [axis(d.x_ticks, { label: "percentile", size: 30, labelSize: 20, labelGap: 2, labelFont: font() }),
        timeAxis()],
      series: [
        { label: "percentile", value: (u, v, s, i) => (i == null ? "–" : "p" + level(d.q[i])) },
        ...shown.map((n) => line(names[n], n, { dash: dashes[n], points: dots(d.curves[n]), show: !d.hidden.includes(n) })),
      ],
      hooks: { drawAxes: [runCurves], draw: [limits] },
    }, [d.x, ...shown.map((n) => d.curves[n])], box);
  }

  let label = data.runs && data.runs.chosen;
  function runsChart(box, width) {
    const d = data.runs, one = d.by_label[label];
    if (!one) return null;
    const height = width < 500 ? 270 : 310;
    const first = d.run[0], last = d.run[d.run.length - 1];
    const infinite = (u) => {
      const c = u.ctx;
      c.save();
      c.fillStyle = css("ink"); c.font = "bold " + 16 * uPlot.pxRatio + "px sans-serif";
      c.textAlign = "center"; c.textBaseline = "top";
      for (const run of one.infinite) c.fillText("∞", u.valToPos(run, "x", true), u.bbox.top + 2);
      c.restore();
    };
    const valid = one.points.map((v, i) => (d.verdict[i] === "valid" ? v : null));
    const other = one.points.map((v, i) => (d.verdict[i] === "valid" ? null : v));
    const dot = { width: 0, paths: () => null };
    const end = () => ({ class: "quiet", stroke: "transparent", width: 0, points: { show: false } });
    return new uPlot({
      width, height,
      legend, cursor: { y: false, drag: { setScale: false, x: false } },
      scales: { x: { time: false, range: [first - 0.5, last + 0.5] }, y: { range: one.y } },
      axes: [axis(null, { label: "run", size: 30, labelSize: 20, labelGap: 2, labelFont: font(), incrs: [1, 2, 5, 10, 20, 50, 100], grid: { show: false } }),
        axis(one.y_ticks, { size: 62 })],
      series: [
        { label: "run", value: (u, v) => (v == null ? "–" : String(v)) },
        line(label + " of the run", "ink", { ...dot, points: { show: true, size: 7, fill: css("ink") }, value: (u, v, s, i) => {
          if (i == null) return "–";
          const text = one.infinite.includes(d.run[i]) ? "∞" : time(one.points[i]);
          return d.verdict[i] === "valid" ? text : text + " (" + d.verdict[i] + ")";
        } }),
        line("", "ink", { ...dot, class: "quiet", points: { show: true, size: 7, fill: css("panel"), width: 1.5 } }),
        line("running " + d.about, "latency", { spanGaps: true, value: (u, v, s, i) =>
          (v == null ? "–" : `${time(v)} [${time(one.low[i])}, ${time(one.high[i])}]`) }),
        end(), end(),
      ],
      bands: [{ series: [5, 4], fill: css("band") }],
      hooks: { draw: [infinite] },
    }, [d.run, valid, other, one.middle, one.low, one.high], box);
  }

  let chosen = 0;
  function seriesChart(box, width) {
    const d = data.series[chosen];
    const ends = [d.t[0], Math.max(d.t[d.t.length - 1], d.t[0] + 1e-3)];
    const key = "within-run";
    const warm = (u) => {
      if (d.from == null || d.from <= u.scales.x.min) return;
      const c = u.ctx, left = u.bbox.left;
      const right = Math.min(u.valToPos(d.from, "x", true), left + u.bbox.width);
      c.save();
      c.fillStyle = css("warm");
      c.fillRect(left, u.bbox.top, right - left, u.bbox.height);
      if (u.over.dataset.lower) {
        c.fillStyle = css("muted"); c.font = 12 * uPlot.pxRatio + "px " + getComputedStyle(document.body).fontFamily;
        c.textAlign = "right"; c.textBaseline = "top";
        if (right - left > 60 * uPlot.pxRatio) c.fillText("warm-up", right - 6 * uPlot.pxRatio, u.bbox.top + 4);
      }
      c.restore();
    };
    const common = {
      width, legend, cursor: { y: false, sync: { key }, drag: { x: false, setScale: false } },
      hooks: { drawClear: [warm] },
    };
    const clock = { label: "time", value: (u, v) => (v == null ? "–" : v.toFixed(2) + "\u202fs") };
    const x = { time: false, range: ends };
    const upper = new uPlot({
      ...common, height: 130,
      scales: { x, y: { range: (u, low, high) => [0, (high || 1) * 1.15] } },
      axes: [axis(null, { values: (u, s) => s.map(() => ""), size: 8 }),
        axis(null, { size: 62, space: 34, values: (u, s) => s.map((v) => thousands(v)) })],
      series: [clock, line("rate", "muted", { width: 1.5, value: (u, v) => rate(v), points: dots(d.rate) }),
        ...(d.requested ? [line("requested", "ink", { width: 1, dash: [4, 3], value: (u, v) => rate(v) })] : [])],
    }, [d.t, d.rate, ...(d.requested ? [d.requested] : [])], box);
    const height = width < 500 ? 240 : 270;
    const lower = new uPlot({
      ...common, height,
      scales: { x, y: { distr: 3, range: aired } },
      axes: [axis(null, { label: "seconds since the run began", size: 30, labelSize: 20, labelGap: 2, labelFont: font() }),
        timeAxis()],
      series: [clock, line("p99", "latency", { points: dots(d.p99) }), line("p50", "service", { dash: [7, 3], points: dots(d.p50) })],
    }, [d.t, d.p99, d.p50], box);
    lower.over.dataset.lower = "1";
    lower.redraw();
    return { destroy() { upper.destroy(); lower.destroy(); } };
  }

  const charts = { tail: tailChart, runs: runsChart, series: seriesChart };
  const live = {};
  function draw(name) {
    const figure = document.querySelector(`figure[data-chart="${name}"]`);
    if (!figure || !data[name] || !figure.querySelector(".still")) return;
    let box = figure.querySelector(".plot");
    if (!box) {
      box = document.createElement("div");
      box.className = "plot";
      box.setAttribute("role", "img");
      box.setAttribute("aria-label", figure.querySelector("svg").getAttribute("aria-label"));
      figure.prepend(box);
    }
    if (live[name]) live[name].destroy();
    figure.parentElement.classList.add("live");
    try {
      live[name] = charts[name](box, Math.max(240, Math.floor(figure.clientWidth)));
    } catch (error) {
      // The static drawing remains, as on a page without scripts.
      live[name] = null;
      box.remove();
      figure.parentElement.classList.remove("live");
      console.error(error);
    }
  }
  const all = () => Object.keys(charts).forEach(draw);
  all();

  // The page's width changed (rotated phone, resized window): draw again, once per frame.
  let width = document.body.clientWidth, waiting = false;
  new ResizeObserver(() => {
    if (waiting || document.body.clientWidth === width) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      width = document.body.clientWidth;
      all();
    });
  }).observe(document.body);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);

  const group = document.querySelector('[data-choose="runs"]');
  if (group) {
    group.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      label = button.dataset.label;
      for (const each of group.querySelectorAll("button")) each.setAttribute("aria-pressed", String(each === button));
      draw("runs");
    });
  }
  const select = document.querySelector('select[data-choose="series"]');
  if (select) select.addEventListener("change", () => { chosen = Number(select.value); draw("series"); });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const code = button.previousElementSibling;
    let done = true;
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().selectAllChildren(code);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "copied" : "selected";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
})();
