"use strict";
/* The flame graph: functions below their callers, as wide as the time in them. */
(() => {
  const source = page.flames, holder = document.getElementById("flame"), details = document.getElementById("flame-details");
  const measure = document.getElementById("flame-measure"), swarm = document.getElementById("flame-swarm"), phase = document.getElementById("flame-phase");
  const find = document.getElementById("flame-find"), HEIGHT = 18, LEAST = 0.002, MOST = 3000, ALL = "(all)";
  const parent = unpack(source.parent, "i4"), frame = unpack(source.frame, "u4"), children = Array.from({length: source.n}, () => []);
  for (let node = 1; node < source.n; node++) children[parent[node]].push(node);
  const TITLES = {cpu: "on a processor (samples)", elapsed: "elapsed (Python stacks)"};
  let total = new Float64Array(source.n), root = 0;

  function choose(select, values, titles = {}) {
    select.replaceChildren(...values.map(value => { const option = document.createElement("option"); option.value = value; option.textContent = titles[value] || value; return option; }));
    select.onchange = () => { root = 0; add(); };
  }

  /* Time of every function with all that it called. */
  function add() {
    total = new Float64Array(source.n);
    for (const group of source.groups) {
      if (group.measure !== measure.value || (swarm.value !== ALL && group.swarm !== swarm.value) || (phase.value !== ALL && group.phase !== phase.value)) continue;
      group.read = group.read || {node: unpack(group.node, "u4"), weight: unpack(group.weight_us, "f4")};
      for (let at = 0; at < group.n; at++) total[group.read.node[at]] += group.read.weight[at];
    }
    for (let node = source.n - 1; node > 0; node--) total[parent[node]] += total[node];
    draw();
  }

  function nameOf(node) { return node ? source.frames[frame[node]] : "all"; }

  function told(node) {
    const share = total[0] > 0 ? total[node] / total[0] : 0;
    return `${nameOf(node)}: ${timeText(total[node] * 1e3)}, ${rounded(100 * share, 3)} % of ${timeText(total[0] * 1e3)}`;
  }

  function draw() {
    const wanted = find.value.trim().toLowerCase(), boxes = [];
    let deepest = 0, sum = 0;
    const line = [];
    for (let node = root; node > 0; node = parent[node]) line.unshift(parent[node]);
    line.forEach((node, depth) => boxes.push({node, depth, left: 0, width: 1}));
    const place = (node, depth, left) => {
      const width = total[node] / total[root];
      if (!(width >= LEAST) || boxes.length >= MOST) return;
      boxes.push({node, depth, left, width});
      deepest = Math.max(deepest, depth);
      for (const child of [...children[node]].sort((one, other) => total[other] - total[one])) { place(child, depth + 1, left); left += total[child] / total[root]; }
    };
    place(root, line.length, 0);
    const buttons = boxes.map(({node, depth, left, width}) => {
      const button = document.createElement("button"), name = nameOf(node), matches = wanted && name.toLowerCase().includes(wanted);
      if (matches) { let above = parent[node], counted = false; for (; above >= 0; above = parent[above]) counted = counted || nameOf(above).toLowerCase().includes(wanted); if (!counted) sum += total[node]; }
      button.type = "button";
      button.setAttribute("role", "treeitem");
      button.setAttribute("aria-level", String(depth + 1));
      button.style.cssText = `left:${100 * left}%;width:${100 * width}%;top:${depth * HEIGHT}px;background:${node ? `hsl(${20 + hashOf(name) % 40} 85% ${68 + (hashOf(name) >> 8) % 14}%)` : "#cfd4da"}`;
      button.className = wanted && !matches ? "dim" : "";
      button.textContent = width > 0.012 ? name : "";
      button.title = told(node);
      button.setAttribute("aria-label", told(node));
      button.onclick = () => { root = node; draw(); details.textContent = told(node); };
      button.onmouseenter = button.onfocus = () => { details.textContent = told(node); };
      return button;
    });
    holder.replaceChildren(...buttons);
    holder.style.height = (deepest + 1) * HEIGHT + "px";
    details.textContent = wanted ? `${find.value}: ${timeText(sum * 1e3)}, ${rounded(100 * sum / (total[0] || 1), 3)} % of the time` : told(root);
  }

  if (!source.groups.length) {
    details.textContent = "The recording holds no samples and no stacks.";
    document.querySelectorAll("#flames .tools").forEach(each => each.remove());
  } else {
    const named = key => [...new Set(source.groups.map(each => each[key]))];
    choose(measure, named("measure"), TITLES);
    choose(swarm, [ALL, ...named("swarm")]);
    choose(phase, [ALL, ...named("phase")]);
    find.addEventListener("input", draw);
    document.getElementById("flame-reset").onclick = () => { root = 0; draw(); };
    add();
  }
  document.documentElement.dataset.readyMs = performance.now().toFixed(0);
})();
