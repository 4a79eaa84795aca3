"use strict";
/* The timeline: rows, moving and zooming, what stands under the pointer, search, legend. */
(() => {
  const canvas = document.getElementById("canvas"), holder = document.getElementById("view"), spacer = document.getElementById("spacer");
  const details = document.getElementById("details"), found = document.getElementById("found"), find = document.getElementById("find");
  const context = canvas.getContext("2d"), HEAD = 20, LINE = 17, SERIES = 46, AXIS = 40;
  const view = {from: 0, to: WHOLE}, shown = {matches: null, hidden: new Set()}, closed = new Set();
  let rows = [], bottom = 0, logarithmic = false, chosen = null, waiting = false;
  const LEFT = () => Math.min(230, holder.clientWidth * 0.28);
  const steps = data.steps.map(each => ({rank: each.rank, number: unpack(each.number, "i4"), start: unpack(each.start, "u4"), length: unpack(each.length, "u4")}));

  function headOf(line) {
    const rank = line.rank >= 0 ? `rank ${line.rank}` : line.pid < 0 ? "no rank" : "";
    if (line.pid < 0) return rank + (line.group === "packets" ? ", network" : line.group === "messages" ? ", messages" : line.group.startsWith("device") || line.group === "copies" ? ", devices" : "");
    return `${rank ? rank + ", " : ""}process ${line.pid} ${data.processes[line.pid] || ""}`;
  }

  function makeRows() {
    rows = [];
    let head = null;
    const add = (name, count) => { head = name; rows.push({head: name, height: HEAD, count}); };
    const heads = data.lines.map(headOf);
    data.lines.forEach((line, at) => {
      if (heads[at] !== head) add(heads[at], heads.filter(each => each === heads[at]).length);
      if (!closed.has(head)) rows.push({line, height: LINE, text: line.depth ? "" : [line.group, line.label].filter(Boolean).join(", ")});
    });
    const groups = page.series.map(each => `series: ${each.name.split(".")[0]}`);
    [...new Set(groups)].forEach(name => {
      add(name, groups.filter(each => each === name).length);
      if (!closed.has(name)) page.series.forEach((series, at) => {
        if (groups[at] === name) rows.push({series, height: SERIES, text: [series.name, series.what, series.rank >= 0 ? `rank ${series.rank}` : ""].filter(Boolean).join(" ")});
      });
    });
    let top = AXIS;
    for (const row of rows) { row.top = top; top += row.height; }
    bottom = top;
    holder.style.height = `min(62vh, ${Math.max(top, 160) + 2}px)`;
    holder.style.minHeight = "0";
    spacer.style.height = Math.max(0, top - holder.clientHeight) + "px";
  }

  function resize() {
    makeRows();
    const scale = window.devicePixelRatio || 1, width = holder.clientWidth, height = holder.clientHeight;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    context.setTransform(scale, 0, 0, scale, 0, 0);
    draw();
  }

  function draw() {
    waiting = false;
    const left = LEFT(), width = holder.clientWidth - left, height = holder.clientHeight, offset = holder.scrollTop;
    const colours = {front: themeColour("--front"), soft: themeColour("--soft"), line: themeColour("--line"), band: themeColour("--band"), back: themeColour("--back"), accent: themeColour("--accent")};
    context.fillStyle = colours.back;
    context.fillRect(0, 0, left + width, height);
    context.font = "11px system-ui, sans-serif";
    for (const row of rows) {
      const top = row.top - offset;
      if (top + row.height < AXIS || top > height) continue;
      if (row.head !== undefined) drawHead(row, top, left + width, colours); else drawRow(row, top, left, width, colours);
    }
    drawSteps(left, width, height, colours);
    drawAxis(left, width, colours);
    if (chosen && chosen.row) {
      context.strokeStyle = colours.accent;
      context.strokeRect(0.5, chosen.row.top - offset + 0.5, left + width - 1, chosen.row.height - 1);
    }
  }

  function later() {
    if (!waiting) { waiting = true; requestAnimationFrame(draw); }
  }

  function drawHead(row, top, width, colours) {
    context.fillStyle = colours.band;
    context.fillRect(0, top, width, row.height - 1);
    context.fillStyle = colours.front;
    context.font = "bold 11px system-ui, sans-serif";
    context.fillText(`${closed.has(row.head) ? "▸" : "▾"} ${row.head} (${row.count} ${row.count === 1 ? "line" : "lines"})`, 6, top + 14);
    context.font = "11px system-ui, sans-serif";
  }

  function drawRow(row, top, left, width, colours) {
    const box = {left, top: top + 2, width, height: row.height - 4};
    context.save();
    context.beginPath();
    context.rect(left, top, width, row.height);
    context.clip();
    if (row.line) drawLine(context, row.line, view, box, shown); else drawSeries(context, row.series, view, box, logarithmic);
    context.restore();
    context.fillStyle = colours.line;
    context.fillRect(0, top + row.height - 1, left + width, 0.5);
    context.fillStyle = colours.front;
    context.fillText(clipped(row.text, left - 12), 10, top + 12);
    if (!row.series) return;
    const read = readSeries(row.series), least = logarithmic && read.least < read.largest ? read.least : 0;
    context.fillStyle = colours.soft;
    context.fillText(`to ${valueText(read.largest, row.series.unit)}`, 10, top + 25);
    context.fillText(`from ${valueText(least, row.series.unit)}`, 10, top + 38);
  }

  function drawSteps(left, width, height, colours) {
    if (!steps.length) return;
    const own = steps[0], scale = width / (view.to - view.from);
    context.save();
    context.beginPath();
    context.rect(left, 0, width, Math.min(height, bottom - holder.scrollTop));
    context.clip();
    for (let at = Math.max(0, firstFrom(own.start, view.from) - 1); at < own.start.length && own.start[at] <= view.to; at++) {
      const x = left + (own.start[at] - view.from) * scale, wide = own.length[at] * scale;
      if (wide > 9) {
        context.fillStyle = colours.soft;
        context.globalAlpha = 0.22;
        context.fillRect(x, AXIS, 1, height);
        context.fillRect(x + wide, AXIS, 1, height);
        context.globalAlpha = 1;
      }
    }
    context.restore();
  }

  function drawAxis(left, width, colours) {
    context.fillStyle = colours.back;
    context.fillRect(0, 0, left + width, AXIS);
    const scale = width / (view.to - view.from), {found: moments, step} = axisMoments(view, width);
    context.fillStyle = colours.soft;
    for (const moment of moments) {
      const x = left + (moment / TICK + ZERO - view.from) * scale;
      context.fillRect(x, 14, 1, 5);
      context.fillText(axisText(moment, step), x + 3, 12);
    }
    context.fillStyle = colours.front;
    context.fillText("time since the start", 10, 12);
    if (steps.length) context.fillText(`steps of rank ${steps[0].rank}`, 10, 32);
    const own = steps[0];
    for (let at = own ? Math.max(0, firstFrom(own.start, view.from) - 1) : 0; own && at < own.start.length && own.start[at] <= view.to; at++) {
      const x = Math.max(left, left + (own.start[at] - view.from) * scale), end = Math.min(left + width, left + (own.start[at] + own.length[at] - view.from) * scale);
      if (end <= left) continue;
      context.fillStyle = at % 2 ? "#8fb8dc" : "#c4d9ec";
      context.fillRect(x, 21, Math.max(0.6, end - x - 0.5), 15);
      if (end - x > 26) { context.fillStyle = "#101010"; context.fillText(String(own.number[at]), x + 3, 32); }
    }
    context.fillStyle = colours.line;
    context.fillRect(0, AXIS - 1, left + width, 1);
  }

  function setView(from, to) {
    const span = Math.min(WHOLE, Math.max(to - from, Math.min(WHOLE, 20)));
    from = Math.max(0, Math.min(WHOLE - span, from));
    view.from = from;
    view.to = from + span;
    later();
  }

  function zoom(factor, at = (view.from + view.to) / 2) {
    setView(at - (at - view.from) * factor, at + (view.to - at) * factor);
  }

  function momentAt(x) {
    return view.from + (x - LEFT()) / (holder.clientWidth - LEFT()) * (view.to - view.from);
  }

  function rowAt(y) {
    if (y < AXIS) return null;
    const at = y + holder.scrollTop;
    return rows.find(row => row.top <= at && at < row.top + row.height) || null;
  }

  function itemAt(row, moment) {
    const nsPerPixel = (view.to - view.from) * TICK / (holder.clientWidth - LEFT());
    const level = levelFor(row.line, view.from, view.to, nsPerPixel), slack = 2 * nsPerPixel / TICK;
    if (!level) return null;
    for (let at = firstFrom(level.reach, moment - slack); at < level.n && level.start[at] <= moment + slack; at++)
      if (level.start[at] - slack <= moment && moment <= level.start[at] + level.length[at] + slack) return {level, at};
    return null;
  }

  function stepText(rank, moment) {
    const own = steps.find(each => each.rank === rank) || steps[0];
    if (!own) return "";
    const at = firstFrom(own.start, moment + 0.5) - 1;
    return at >= 0 && moment < own.start[at] + own.length[at] ? `, in step ${own.number[at]} of rank ${own.rank}` : ", outside of steps";
  }

  function tell(row, moment, item) {
    if (!row) return;
    if (row.series) {
      const read = readSeries(row.series), at = Math.min(row.series.n - 1, firstFrom(read.time, moment)), unit = row.series.unit;
      const value = read.low[at] === read.high[at] ? valueText(read.high[at], unit) : `${valueText(read.low[at], unit)} to ${valueText(read.high[at], unit)}`;
      details.textContent = `${row.text}: ${value} at ${timeText((read.time[at] - ZERO) * TICK)}${stepText(row.series.rank, moment)}`;
      return;
    }
    if (row.head !== undefined) { details.textContent = `${row.head}: Enter or click ${closed.has(row.head) ? "opens" : "closes"} it`; return; }
    const where = `${headOf(row.line)}, ${row.line.label ? row.line.label + ", " : ""}${row.line.group}`;
    if (!item) { details.textContent = `${timeText((moment - ZERO) * TICK)}${stepText(row.line.rank, moment)}\n${where}, ${row.line.n_events.toLocaleString()} events`; return; }
    const {level, at} = item, [name, place, swarm] = data.labels[level.label[at]], count = level.count ? level.count[at] : 1;
    const parts = [`from ${timeText((level.start[at] - ZERO) * TICK, 6)}`, `for ${timeText(level.length[at] * TICK)}`];
    if (count > 1) parts.push(`${count.toLocaleString()} events, the most time in this one`);
    if (level.fill && level.length[at] > 0) parts.push(`${Math.round(level.fill[at] / 2.55)} % covered`);
    if (level.size && level.size[at]) parts.push(bytesText(level.size[at]));
    const of = [place, swarm >= 0 ? `swarm ${data.swarms[swarm]}` : ""].filter(Boolean).join(", ");
    details.textContent = `${name}${of ? ` (${of})` : ""}: ${parts.join(", ")}${stepText(row.line.rank, level.start[at])}\n${where}`;
  }

  function toggle(head) {
    if (!closed.delete(head)) closed.add(head);
    resize();
  }

  function goStep(direction) {
    if (!steps.length) return;
    const own = steps[0], middle = (view.from + view.to) / 2, last = own.start.length - 1;
    let at = firstFrom(own.start, middle + 0.5) - 1 + direction;
    at = Math.max(0, Math.min(last, at));
    setView(own.start[at] - 0.05 * own.length[at], own.start[at] + 1.05 * own.length[at]);
    details.textContent = `step ${own.number[at]} of rank ${own.rank}: ${timeText(own.length[at] * TICK)}`;
  }

  function typical() {
    if (!data.detail_ns) { details.textContent = "No steps were found."; return; }
    const [from, to] = data.detail_ns.map(each => (each - data.begin_ns) / TICK);
    setView(from, to);
  }

  function moveRow(direction) {
    let at = rows.indexOf(chosen && chosen.row) + direction;
    at = Math.max(0, Math.min(rows.length - 1, at));
    chosen = {row: rows[at], item: null};
    const top = rows[at].top, low = holder.scrollTop + AXIS, high = holder.scrollTop + holder.clientHeight - rows[at].height;
    if (top < low) holder.scrollTop = top - AXIS; else if (top > high) holder.scrollTop += top - high;
    tell(chosen.row, (view.from + view.to) / 2, null);
    later();
  }

  function moveItem(direction) {
    if (!chosen || !chosen.row || !chosen.row.line) return;
    const level = levelFor(chosen.row.line, view.from, view.to, (view.to - view.from) * TICK / (holder.clientWidth - LEFT()));
    if (!level || !level.n) return;
    const same = chosen.item && chosen.item.level === level;
    let at = same ? chosen.item.at + direction : firstFrom(level.start, (view.from + view.to) / 2);
    at = Math.max(0, Math.min(level.n - 1, at));
    chosen.item = {level, at};
    const start = level.start[at], span = view.to - view.from;
    if (start < view.from || start > view.to) setView(start - span / 2, start + span / 2);
    tell(chosen.row, start, chosen.item);
    later();
  }

  function search(text) {
    const wanted = text.trim().toLowerCase();
    shown.matches = wanted ? Uint8Array.from(data.labels, label => label[0].toLowerCase().includes(wanted) || label[1].toLowerCase().includes(wanted) ? 1 : 0) : null;
    const names = shown.matches ? shown.matches.reduce((sum, each) => sum + each, 0) : 0;
    found.textContent = !wanted ? "" : !names ? "no name matches" : `${names} ${names === 1 ? "name matches" : "names match"}; Enter goes to the next`;
    later();
  }

  function nextMatch() {
    if (!shown.matches) return;
    const middle = (view.from + view.to) / 2;
    let best = null;
    for (const row of rows) {
      const level = row.line && finest(row.line);
      for (let at = level ? firstFrom(level.start, middle + 1) : 0; level && at < level.n; at++)
        if (shown.matches[level.label[at]]) { if (!best || level.start[at] < best.level.start[best.at]) best = {row, level, at}; break; }
    }
    if (!best) { found.textContent = "no later one"; return; }
    const span = Math.min(view.to - view.from, Math.max(50 * best.level.length[best.at], WHOLE / 500)), start = best.level.start[best.at];
    chosen = {row: best.row, item: best};
    setView(start - span / 2, start + span / 2);
    holder.scrollTop = Math.max(0, best.row.top - holder.clientHeight / 2);
    tell(best.row, start, best);
  }

  function makeLegend() {
    const legend = document.getElementById("legend");
    const entry = (text, colour, swarm) => {
      const item = document.createElement("li"), mark = document.createElement("i");
      mark.style.background = colour;
      item.append(mark);
      if (swarm === undefined) { item.append(text); legend.append(item); return; }
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.setAttribute("aria-pressed", "true");
      button.title = "show or fade this swarm";
      button.onclick = () => {
        if (!shown.hidden.delete(swarm)) shown.hidden.add(swarm);
        button.setAttribute("aria-pressed", String(!shown.hidden.has(swarm)));
        later();
      };
      item.append(button);
      legend.append(item);
    };
    if (data.swarms.length) {
      data.swarms.forEach((name, at) => entry(name, swarmColour(at), at));
      entry("no swarm", nameColour("", true), -1);
      return;
    }
    const time = new Map();
    for (const line of data.lines) {
      const level = line.levels.length ? readLevel(line.levels[0]) : null;
      for (let at = 0; level && at < level.n; at++) time.set(level.label[at], (time.get(level.label[at]) || 0) + level.length[at]);
    }
    [...time].sort((one, other) => other[1] - one[1]).slice(0, 12).forEach(([label]) => entry(data.labels[label][0], labelColour(label, true)));
  }

  const KEYS = {
    ArrowLeft: () => setView(view.from - 0.2 * (view.to - view.from), view.to - 0.2 * (view.to - view.from)),
    ArrowRight: () => setView(view.from + 0.2 * (view.to - view.from), view.to + 0.2 * (view.to - view.from)),
    ArrowUp: () => moveRow(-1), ArrowDown: () => moveRow(1), ",": () => moveItem(-1), ".": () => moveItem(1),
    "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), "0": () => setView(0, WHOLE),
    Home: () => setView(0, view.to - view.from), End: () => setView(WHOLE - (view.to - view.from), WHOLE),
    n: () => goStep(1), p: () => goStep(-1), s: typical,
    Enter: () => { if (chosen && chosen.row.head !== undefined) { const name = chosen.row.head; toggle(name); chosen = {row: rows.find(row => row.head === name), item: null}; } },
  };
  holder.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") { find.focus(); event.preventDefault(); return; }
    if (KEYS[event.key]) { KEYS[event.key](); event.preventDefault(); }
  });
  holder.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    const turned = event.deltaY || event.deltaX;
    zoom(turned > 0 ? 1.25 : 0.8, momentAt(event.clientX - canvas.getBoundingClientRect().left));
  }, {passive: false});
  let grip = null;
  canvas.addEventListener("pointerdown", event => { grip = {x: event.clientX, y: event.clientY, from: view.from, to: view.to, top: holder.scrollTop, moved: false}; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", event => {
    const bounds = canvas.getBoundingClientRect(), row = rowAt(event.clientY - bounds.top);
    if (grip && !grip.moved && row && row.head !== undefined) toggle(row.head);
    else if (grip && !grip.moved && row) { chosen = {row, item: row.line ? itemAt(row, momentAt(event.clientX - bounds.left)) : null}; later(); }
    grip = null;
  });
  canvas.addEventListener("pointermove", event => {
    const bounds = canvas.getBoundingClientRect();
    if (grip) {
      grip.moved = grip.moved || Math.abs(event.clientX - grip.x) + Math.abs(event.clientY - grip.y) > 3;
      const shift = (grip.x - event.clientX) / (holder.clientWidth - LEFT()) * (grip.to - grip.from);
      setView(grip.from + shift, grip.to + shift);
      holder.scrollTop = grip.top + grip.y - event.clientY;
      return;
    }
    const row = rowAt(event.clientY - bounds.top), moment = momentAt(event.clientX - bounds.left);
    tell(row, moment, row && row.line ? itemAt(row, moment) : null);
  });
  canvas.addEventListener("dblclick", event => zoom(0.4, momentAt(event.clientX - canvas.getBoundingClientRect().left)));
  holder.addEventListener("scroll", later);
  document.getElementById("zoom-in").onclick = () => zoom(0.6);
  document.getElementById("zoom-out").onclick = () => zoom(1 / 0.6);
  document.getElementById("zoom-all").onclick = () => setView(0, WHOLE);
  document.getElementById("zoom-step").onclick = typical;
  document.getElementById("step-before").onclick = () => goStep(-1);
  document.getElementById("step-after").onclick = () => goStep(1);
  document.getElementById("logarithmic").onchange = event => { logarithmic = event.target.checked; later(); };
  find.addEventListener("input", () => search(find.value));
  find.addEventListener("keydown", event => { if (event.key === "Enter") nextMatch(); });
  isDark.addEventListener("change", () => { labelColours.length = 0; later(); });
  window.addEventListener("resize", resize);
  const many = new Map();
  page.series.forEach(each => many.set(each.name.split(".")[0], (many.get(each.name.split(".")[0]) || 0) + 1));
  many.forEach((count, name) => { if (count > 24) closed.add(`series: ${name}`); });
  makeLegend();
  resize();
  window.timeline = {view, setView, search, nextMatch, goStep, typical, tellAt: (x, y) => { const row = rowAt(y); tell(row, momentAt(x), row && row.line ? itemAt(row, momentAt(x)) : null); }, rows: () => rows};
})();
