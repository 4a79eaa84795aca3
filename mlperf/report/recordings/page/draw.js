"use strict";
/* What a line of the timeline shows between two moments. */
const data = page.timeline, TICK = data.tick_ns, WHOLE = (data.end_ns - data.begin_ns) / TICK;
const ZERO = (data.run_ns[0] - data.begin_ns) / TICK;

function readLevel(level) {
  if (level.read) return level.read;
  const start = unpack(level.start, "u4"), length = unpack(level.length, "u4"), reach = new Float64Array(level.n);
  let latest = 0;
  for (let at = 0; at < level.n; at++) reach[at] = latest = Math.max(latest, start[at] + length[at]);
  level.read = {
    n: level.n, width: level.width_ns, start, length, reach, label: unpack(level.label, "u2"),
    fill: level.fill ? unpack(level.fill, "u1") : null,
    count: level.count ? unpack(level.count, "u4") : null,
    size: level.size ? unpack(level.size, "f4") : null,
  };
  level.start = level.length = level.label = level.fill = level.count = level.size = null;
  return level.read;
}

function isWhole(level) {
  return level.from_ns <= data.begin_ns && level.to_ns >= data.end_ns;
}

/* The coarsest level that still shows each pixel right, else the finest that holds everything in view. */
function levelFor(line, from, to, nsPerPixel) {
  let chosen = null;
  for (const level of line.levels) {
    const holds = (level.from_ns - data.begin_ns) / TICK <= from && (level.to_ns - data.begin_ns) / TICK >= to;
    if (!isWhole(level) && !holds) continue;
    chosen = level;
    if (level.width_ns <= nsPerPixel) break;
  }
  return chosen && readLevel(chosen);
}

function finest(line) {
  const whole = line.levels.filter(isWhole);
  return whole.length ? readLevel(whole[whole.length - 1]) : null;
}

/* The swarm's colour; where there are swarms, names without one are grey, but for the program's marks. */
const labelColours = [];
function labelColour(label, isMark) {
  if (!labelColours[label]) {
    const [name, , swarm] = data.labels[label];
    labelColours[label] = swarm >= 0 ? swarmColour(swarm) : nameColour(name, data.swarms.length > 0 && !isMark);
  }
  return labelColours[label];
}

function drawLine(context, line, view, box, shown) {
  const level = levelFor(line, view.from, view.to, (view.to - view.from) * TICK / box.width);
  if (!level) return;
  const scale = box.width / (view.to - view.from);
  let drawnTo = -1;
  for (let at = firstFrom(level.reach, view.from); at < level.n && level.start[at] <= view.to; at++) {
    const label = level.label[at];
    const left = Math.max(0, (level.start[at] - view.from) * scale);
    const right = Math.min(box.width, (level.start[at] + level.length[at] - view.from) * scale);
    if (right < drawnTo && right - left < 1 && !shown.matches) continue;
    const width = Math.max(1, right - left);
    const share = level.fill ? level.fill[at] / 255 : 1;
    const height = level.length[at] === 0 ? box.height * 0.6 : Math.max(3, box.height * (0.25 + 0.75 * share));
    const off = (shown.matches && !shown.matches[label]) || shown.hidden.has(data.labels[label][2]);
    context.globalAlpha = off ? 0.12 : 1;
    context.fillStyle = labelColour(label, line.group === "marks");
    context.fillRect(box.left + left, box.top + box.height - height, width, height);
    drawnTo = left + width;
    if (width > 44 && !off) {
      context.fillStyle = "#101010";
      context.fillText(clipped(data.labels[label][0], width - 6), box.left + left + 3, box.top + box.height / 2 + 4);
    }
  }
  context.globalAlpha = 1;
}

/* Text cut to about a width: all of a timeline's letters are about six pixels wide. */
function clipped(text, width) {
  const most = Math.floor(width / 6);
  return text.length <= most ? text : most < 3 ? "" : text.slice(0, most - 1) + "…";
}

function readSeries(series) {
  if (!series.read) {
    series.read = {time: unpack(series.time, "u4"), low: unpack(series.low, "f4"), high: unpack(series.high, "f4")};
    let largest = 0, least = Infinity;
    for (let at = 0; at < series.n; at++) {
      largest = Math.max(largest, series.read.high[at]);
      if (series.read.high[at] > 0) least = Math.min(least, series.read.high[at]);
    }
    series.read.largest = largest;
    series.read.least = least;
  }
  return series.read;
}

/* Height of a value above the axis as a share of the line. */
function seriesHeight(read, value, logarithmic) {
  if (read.largest <= 0) return 0;
  if (!logarithmic || read.least >= read.largest) return Math.max(0, value) / read.largest;
  if (value <= 0) return 0;
  const low = Math.log(read.least) - 0.1;
  return Math.max(0, (Math.log(value) - low) / (Math.log(read.largest) - low));
}

function drawSeries(context, series, view, box, logarithmic) {
  const read = readSeries(series), scale = box.width / (view.to - view.from), base = box.top + box.height;
  const first = Math.max(0, firstFrom(read.time, view.from) - 1), upper = [], lower = [];
  for (let at = first; at < series.n; at++) {
    const x = box.left + (read.time[at] - view.from) * scale;
    upper.push([x, base - box.height * seriesHeight(read, read.high[at], logarithmic)]);
    lower.push([x, base - box.height * seriesHeight(read, read.low[at], logarithmic)]);
    if (read.time[at] > view.to) break;
  }
  context.save();
  context.beginPath();
  context.rect(box.left, box.top - 2, box.width, box.height + 4);
  context.clip();
  context.beginPath();
  for (const [x, y] of upper) context.lineTo(x, y);
  for (const [x, y] of lower.reverse()) context.lineTo(x, y);
  context.fillStyle = nameColour(series.name, false);
  context.globalAlpha = 0.35;
  context.fill();
  context.globalAlpha = 1;
  context.beginPath();
  for (const [x, y] of upper) context.lineTo(x, y);
  context.strokeStyle = nameColour(series.name, false);
  context.lineWidth = 1.3;
  context.stroke();
  context.restore();
}

/* Moments of an axis: about one in a hundred pixels, of round distance. */
function axisMoments(view, width) {
  const rough = (view.to - view.from) * TICK / Math.max(2, width / 110), power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(each => each >= rough);
  const begin = (view.from - ZERO) * TICK, end = (view.to - ZERO) * TICK, found = [];
  for (let at = Math.ceil(begin / step); at * step <= end; at++) found.push(at * step);
  return {found, step};
}

function axisText(ns, step) {
  const [unit, factor] = step >= 1e8 ? ["s", 1e9] : step >= 1e5 ? ["ms", 1e6] : step >= 100 ? ["µs", 1e3] : ["ns", 1];
  return (ns / factor).toFixed(Math.max(0, Math.ceil(-Math.log10(step / factor) - 1e-9))) + " " + unit;
}
