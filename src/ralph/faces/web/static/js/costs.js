// What it cost, day by day, and by agent, task or model.
import { h, emptyState, setShare } from "./dom.js";
import { get } from "./api.js";
import { address } from "./router.js";
import { money, plain, plural, usage } from "./words.js";

const SPANS = [["7d", "7 days"], ["30d", "30 days"], ["90d", "90 days"], ["all", "All time"]];
const GROUPINGS = [["agent", "Agent"], ["task", "Task"], ["model", "Model"], ["day", "Day"]];
const MOST_BARS = 20;
const FEWEST_DAYS = 14;
const COLOURS = ["--accent", "--tone-coder", "--tone-tester", "--tone-reviewer", "--tone-done", "--tone-qa", "--tone-trouble", "--tone-ready"];

let plotLibrary = null;

export class CostsView {
  constructor() {
    this.since = h("select", { class: "plain-select", "aria-label": "Time span", onchange: () => this.load() }, SPANS.map(([value, text]) => h("option", { value }, text)));
    this.since.value = "30d";
    this.by = h("select", { class: "plain-select", "aria-label": "Group by", onchange: () => this.load() }, GROUPINGS.map(([value, text]) => h("option", { value }, `By ${text.toLowerCase()}`)));
    this.body = h("div", {});
    this.node = h("div", { class: "page" }, h("div", { class: "page-head" }, h("div", { class: "page-title" }, h("h1", {}, "Costs"), h("p", { class: "soft" }, "As agents report them; where they report none, estimated by tokens.")), h("div", { class: "actions" }, this.by, this.since)), this.body);
    this.resizer = new ResizeObserver(() => this.fit());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.shown && this.draw());
  }

  show() {
    document.title = "Costs · ralph";
    this.load();
  }

  hide() {
    this.resizer.disconnect();
  }

  update(changes) {
    if (changes.reset || changes.ended.size > 0) this.load();
  }

  onTheme() {
    if (this.shown) this.draw();
  }

  async load() {
    try {
      [this.shown, plotLibrary] = await Promise.all([get("costs", { since: this.since.value, by: this.by.value }), plotLibrary ?? loadPlots()]);
      this.draw();
    } catch (error) {
      this.body.replaceChildren(emptyState(plain(error.message), [error.hint ?? ""]));
    }
  }

  draw() {
    const { total, groups } = this.shown;
    if (total.calls === 0) {
      this.body.replaceChildren(h("div", { class: "panel tall" }, emptyState("Nothing was spent in this time", ["Costs appear here as soon as an agent has run. In a terminal: `ralph cost`"])));
      return;
    }
    const figures = [[money((total.cost_usd ?? 0) + (total.estimated_usd ?? 0)), "in all"], [plural(total.calls, "call"), "of agents and judges"], [usage(total.usage), "tokens"], total.unpriced ? [String(total.unpriced), "calls of unknown cost"] : null];
    this.plotBox = h("div", { class: "plot", role: "img", "aria-label": `Costs by day and ${this.by.value}; the same figures are in the table below` });
    this.body.replaceChildren(
      h("section", { class: "panel" }, h("div", { class: "costs-head" }, figures.filter(Boolean).map(([value, label]) => h("div", { class: "figure" }, h("b", {}, value), h("span", {}, label)))), this.plotBox),
      h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", {}, `By ${this.by.value}`)), buildBars(groups, this.by.value)),
    );
    this.drawPlot();
  }

  drawPlot() {
    const { days, series } = padDays(this.shown);
    if (days.length === 0) return;
    const style = getComputedStyle(document.documentElement);
    const paint = resolveColours(this.plotBox);
    // Stacked: each series stands on the sum of those below it, so the highest is drawn first.
    const sums = days.map(() => 0);
    const stacked = series.map((one) => one.values.map((value, index) => (sums[index] += value)));
    const times = days.map((day) => Date.parse(`${day}T12:00:00`) / 1000);
    const bars = plotLibrary.paths.bars({ size: [0.7, 60] });
    const shapes = series.map((one, index) => ({ label: plain(one.name, 40), fill: paint(COLOURS[index % COLOURS.length]), width: 0, paths: bars, points: { show: false }, value: (plot, value, series_, at) => (at === null || at === undefined ? "—" : money(one.values[at])) }));
    const axis = { stroke: paint("--ink-soft"), grid: { stroke: paint("--line"), width: 1 }, ticks: { stroke: paint("--line"), width: 1 }, font: `12px ${style.getPropertyValue("--sans")}` };
    const options = {
      ...this.size(),
      padding: [8, 28, 0, 4],
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: { x: { range: (plot, low, high) => [low - 43200, high + 43200] }, y: { range: (plot, low, high) => [0, Math.max(high, 0.01) * 1.1] } },
      axes: [{ ...axis, grid: { show: false }, splits: () => pickDays(times, this.plotBox.clientWidth), values: (plot, ticks) => ticks.map(shortDay) }, { ...axis, size: 64, values: (plot, ticks) => ticks.map((tick) => money(tick)) }],
      series: [{ label: "Day", value: (plot, at) => (at === null ? "—" : shortDay(at)) }, ...shapes.toReversed()],
    };
    this.plot = new plotLibrary(options, [times, ...stacked.toReversed()], this.plotBox);
    this.resizer.disconnect();
    this.resizer.observe(this.plotBox);
  }

  size() {
    return { width: Math.max(200, this.plotBox.clientWidth - 16), height: 230 };
  }

  fit() {
    const wanted = this.size();
    if (this.plot && this.plot.width !== wanted.width) this.plot.setSize(wanted);
  }
}

/** Colours of the theme as the canvas knows them. */
function resolveColours(box) {
  const probe = h("span", { hidden: true });
  box.append(probe);
  return (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
}

/** A chart of one day would be one bar: there are always some days before it. */
function padDays({ days, series }) {
  const missing = Math.max(0, FEWEST_DAYS - days.length);
  if (days.length === 0 || missing === 0) return { days, series };
  const first = Date.parse(`${days[0]}T12:00:00`);
  const earlier = Array.from({ length: missing }, (_, index) => localDay(new Date(first - (missing - index) * 86400000)));
  return { days: [...earlier, ...days], series: series.map((one) => ({ ...one, values: [...earlier.map(() => 0), ...one.values] })) };
}

function localDay(day) {
  return [day.getFullYear(), String(day.getMonth() + 1).padStart(2, "0"), String(day.getDate()).padStart(2, "0")].join("-");
}

/** As many days as have room for their names, the last one among them. */
function pickDays(times, width) {
  const step = Math.max(1, Math.ceil(times.length / Math.max(1, Math.floor(width / 90))));
  return times.filter((_, index) => (times.length - 1 - index) % step === 0);
}

function shortDay(at) {
  return new Date(at * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}

function buildBars(groups, by) {
  const amount = (group) => (group.cost_usd ?? 0) + (group.estimated_usd ?? 0);
  const most = Math.max(...groups.map(amount), 0.000001);
  const items = (by === "day" ? groups.toReversed() : groups).slice(0, MOST_BARS).map((group) => {
    const fill = h("span", {});
    setShare(fill, amount(group) / most);
    const isTask = by === "task" && !group.name.startsWith("(");
    const name = isTask ? h("a", { class: "name link", href: address("task", group.name) }, plain(group.name, 100)) : h("span", { class: "name" }, plain(group.name, 100));
    return h("li", {}, name, h("div", { class: "bar", "aria-hidden": "true" }, fill), h("span", { class: "amount" }, group.cost_usd === null && group.estimated_usd === null ? "unknown" : money(amount(group))));
  });
  const more = groups.length > MOST_BARS ? h("p", { class: "panel-body soft" }, `And ${groups.length - MOST_BARS} more.`) : null;
  return [h("ul", { class: "bars panel-body" }, items), more];
}

function loadPlots() {
  document.head.append(h("link", { rel: "stylesheet", href: "/static/vendor/uplot.min.css" }));
  return new Promise((resolve, reject) => {
    const script = h("script", { src: "/static/vendor/uplot.min.js" });
    script.addEventListener("load", () => resolve(window.uPlot));
    script.addEventListener("error", () => reject(new Error("the charts could not be loaded")));
    document.head.append(script);
  });
}
