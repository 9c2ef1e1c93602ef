// The page's views. The fragment keeps what is selected: #miss=3&step=5&instant=7.
"use strict";

const at = (id) => document.getElementById(id);
const view = { miss: 0, step: 0, instant: 0, flush: -1, kind: "" };
let data;
let steps = [];

// --- One miss ---

function box(title, value, part, now, done) {
  const state = part === now ? " now-part" : done.has(part) ? "" : " later";
  return `<div class="box${state}"><small>${title}</small><b>${value}</b></div>`;
}

function addressRow(miss, now, done) {
  const ea = number(miss.address);
  const [first, second] = levelBits(miss);
  const cells = hasTree(miss)
    ? [[`level 1 (${first} bits)`, hex(ea >>> (32 - first), 3)], [`level 2 (${second} bits)`, hex((ea >>> 12) & ((1 << second) - 1), 3)]]
    : [["segment (4 bits)", hex(ea >>> 28, 1)], ["page (16 bits)", hex((ea >>> 12) & 0xffff, 4)]];
  cells.push(["byte (12 bits)", hex(ea & 0xfff, 3)]);
  let row = box("address", escaped(miss.address), "address", now, done) + '<span class="arrow">=</span>';
  row += cells.map(([title, value]) => box(title, value, "address", now, done)).join("");
  if (!hasTree(miss)) {
    row += '<span class="arrow">→</span>' + box(`VSID in segment register ${miss.segment}`, escaped(miss.vsid), "segment", now, done);
    row += '<span class="arrow">→</span>' + box("hash", escaped(miss.hash), "hash", now, done);
  } else if ("cr3" in miss) {
    row += '<span class="arrow">→</span>' + box("CR3", escaped(miss.cr3), "tables", now, done);
  } else {
    row += '<span class="arrow">→</span>' + box("level-1 entry at", escaped(miss.level_one), "tables", now, done);
  }
  return `<div class="row">${row}</div>`;
}

function waysRow(miss, now, done) {
  const ways = miss.ways || [];
  const loaded = now === "load";
  const seen = now === "tlb" || now === "load" ? " now-part" : done.has("tlb") ? "" : " later";
  const cells = ways.map((way, n) => {
    const fresh = loaded && miss.way === n;
    const text = fresh ? `<b>${escaped(miss.address.slice(0, -3))}…: loaded</b>` : way ? escaped(pageOf(way)) : "empty";
    return `<div class="box${fresh ? " now-part" : ""}"><small>${"level_one" in miss ? "entry" : "way"} ${n}</small>${text}</div>`;
  });
  const name = "level_one" in miss ? `the ${miss.side} TLB` : `set ${miss.set} of the ${tlbOf(miss, data)}`;
  return `<div class="group${seen}"><small>${name}</small><div class="ways${ways.length > 8 ? " many" : ""}">${cells.join("")}</div></div>`;
}

function groupRow(miss, which, done) {
  const slots = Array.from({ length: 8 }, () => ({ html: "not read", state: "" }));
  steps.slice(0, view.step + 1).forEach((step) => {
    if (step.part !== which) return;
    const slot = slots[step.slot];
    if (step.found) {
      slot.state = step.found;
      const read = step.source;
      slot.html = step.found === "empty" ? "empty" : `VSID ${read.vsid.slice(2)}<br>page ${read.page_index.slice(2)}`;
    }
    if (step.software) slot.time = "at " + step.at;
    else slot.time = String(Number(slot.time || 0) + step.took);
  });
  const active = steps[view.step].part === which ? steps[view.step].slot : -1;
  const cells = slots.map((slot, n) =>
    `<div class="slot ${slot.state}${n === active ? " now-part" : ""}"><b>slot ${n}${slot.time ? ": " + slot.time : ""}</b>${slot.html}</div>`);
  const address = miss[which];
  return `<div class="group${done.has("hash") ? "" : " later"}"><small>${which} group, at ${escaped(address)}; the number beside a slot is ${byHardware(data) ? "its cycles" : "the cycle at which it was read"}</small><div class="slots">${cells.join("")}</div></div>`;
}

function levelsRow() {
  const reads = steps.filter((step) => step.part === "level1" || step.part === "level2");
  if (!reads.length) return "";
  const cells = reads.map((step, n) => {
    const index = steps.indexOf(step);
    const state = index === view.step ? " now-part" : index > view.step ? " later" : "";
    const arrow = n ? '<span class="arrow">→</span>' : "";
    return `${arrow}<div class="box${state}"><small>page table, ${step.part.replace("level", "level ")}: word at ${escaped(step.source.address)}</small><b>${index <= view.step ? escaped(step.source.value) : "not read"}</b></div>`;
  });
  return `<div class="row">${cells.join("")}</div>`;
}

// A bar of all cycles of the miss: each access in its place, the rest is the walk's or the handler's own time.
function cycleBar(miss) {
  const total = miss.cycles;
  if (!total) return "<p class=\"quiet\">How long this miss took is not known: no entry was loaded for it.</p>";
  let clock = 0;
  let bar = "";
  const piece = (length, kind, title) => { if (length > 0 || kind) bar += `<i class="${kind}" style="width:${(100 * length) / total}%" title="${title}"></i>`; };
  steps.forEach((step, n) => {
    if (step.at === undefined) return;
    const begin = Math.min(step.at, total);
    piece(begin - clock, "", "between accesses: " + cyclesOf(begin - clock));
    const end = Math.min(step.end || Math.max(begin, clock) + step.took, total);
    piece(end - Math.max(begin, clock), n === view.step ? "now-bar" : "access", `${step.title} ${timeOf(step)}`);
    clock = Math.max(clock, end);
  });
  piece(total - clock, "", "after the last access: " + cyclesOf(total - clock));
  const step = steps[view.step];
  const where = step.at === undefined ? "" : `, this step from ${grouped(step.at)} to ${grouped(step.end || step.at + step.took)}`;
  return `<h3>Cycles of this miss</h3><div class="bar">${bar}</div><div class="scale"><span>0</span><span>cycles${where}</span><span>${grouped(total)}</span></div>
<div class="legend"><span style="--c:var(--kernel)">memory accesses</span><span style="--c:var(--now)">this step</span><span style="--c:var(--panel)">${byHardware(data) ? "the walker's own time" : "exception and handler"}</span></div>`;
}

function selection() {
  return data.misses.map((_, n) => n).filter((n) => !view.kind || kindOf(data.misses[n], data) === view.kind);
}

function showMiss() {
  const miss = data.misses[view.miss];
  if (!miss) {
    at("miss-view").innerHTML = "<p>This run has no TLB miss.</p>";
    at("walk-controls").hidden = true;
    return;
  }
  steps = stepsOf(miss, data);
  view.step = Math.max(0, Math.min(view.step, steps.length - 1));
  const step = steps[view.step];
  const done = new Set(steps.slice(0, view.step + 1).map((step) => step.part));
  const list = steps.map((step, n) =>
    `<li class="${n === view.step ? "now" : n < view.step ? "done" : ""}" data-step="${n}"><span>${step.title}</span><span>${step.took === undefined ? "" : step.software ? "at " + step.at : step.took}</span></li>`);
  const hashed = data.kind === "hash" || steps.some((step) => step.part === "primary" || step.part === "secondary");
  at("miss-view").innerHTML = `<div class="layout"><div><p class="quiet">Steps, with the ${byHardware(data) ? "cycles of each access" : "cycle of each access"} of memory:</p><ol class="steps">${list.join("")}</ol></div><div>
<div class="say" id="say" aria-live="polite"><h3>${view.step + 1} of ${steps.length}: ${step.title}</h3>${step.text} <span class="quiet">${timeOf(step)}</span></div>
${addressRow(miss, step.part, done)}${waysRow(miss, step.part, done)}
${hashed ? groupRow(miss, "primary", done) + groupRow(miss, "secondary", done) : ""}${levelsRow()}${cycleBar(miss)}</div></div>`;
  const list_element = at("miss-view").querySelector("ol");
  const now = list_element.querySelector(".now");
  list_element.scrollTop = Math.max(0, now.offsetTop - list_element.offsetTop - list_element.clientHeight / 2);
  list_element.addEventListener("click", (event) => {
    const chosen = event.target.closest("li");
    if (chosen) select({ step: Number(chosen.dataset.step) });
  });
  const among = selection();
  at("previous-miss").disabled = among.indexOf(view.miss) <= 0;
  at("next-miss").disabled = among.indexOf(view.miss) >= among.length - 1;
  at("previous-step").disabled = view.step === 0;
  at("next-step").disabled = view.step === steps.length - 1;
}

function fillMisses() {
  const among = selection();
  at("miss").innerHTML = among.map((n) => {
    const miss = data.misses[n];
    return `<option value="${n}">${n + 1}: ${placeOf(miss)}${miss.address}, ${escaped(miss.function)}${miss.cycles ? ", " + grouped(miss.cycles) : ""}</option>`;
  }).join("");
  at("miss").value = String(view.miss);
}

// --- State over time ---

function tlbGrid(side, state, other) {
  const shape = data.tlb[side];
  const key = (row) => `${row[0]}.${row[1]}`;
  const held = new Map(state.tlb[side].map((row) => [key(row), row]));
  const later = other && new Map(other.tlb[side].map((row) => [key(row), row]));
  let sets = "";
  for (let set = 0; set < shape.sets; set++) {
    let cells = "";
    for (let way = 0; way < shape.ways; way++) {
      const row = held.get(`${set}.${way}`);
      const gone = row && later && !later.has(key(row)) ? " gone" : "";
      const page = !row ? "" : row[2] === null ? `page ${hex(row[3], 8)}` : data.kind === "tree" ? `page ${hex(row[3], 8)}, address space ${row[2]}` : `VSID ${hex(row[2], 6)}, page ${hex(row[3], 4)}`;
      const title = row ? `${page} is at ${hex(row[4], 8)} (${row[5]})` : "empty";
      cells += `<div class="cell ${row ? row[5] : ""}${gone}" title="set ${set}, way ${way}: ${title}"></div>`;
    }
    sets += `<div class="${shape.sets === 1 ? "tlb" : "set"}">${cells}</div>`;
  }
  const names = data.kind === "tree" ? `${shape.ways} entries` : `${shape.sets} sets of ${shape.ways}`;
  return `<div><h3>${side} TLB: ${held.size} of ${shape.sets * shape.ways} entries valid</h3><p class="quiet">${names}${data.kind === "tree" ? "" : "; each column is a set"}</p><div class="tlb">${sets}</div></div>`;
}

const SHADES = ["#26262e", "#443983", "#31688e", "#21918c", "#35b779", "#90d743", "#c8e020", "#fde725", "#ff5533"];

function drawTable(canvas, state, other) {
  const groups = state.hash.occupancy.length;
  const columns = 64;
  canvas.width = columns * 4;
  canvas.height = Math.ceil(groups / columns) * 4;
  const pen = canvas.getContext("2d");
  for (let n = 0; n < groups; n++) {
    const used = Number(state.hash.occupancy[n]);
    const less = other && Number(other.hash.occupancy[n]) < used;
    pen.fillStyle = SHADES[used];
    pen.fillRect((n % columns) * 4, Math.floor(n / columns) * 4, 4, 4);
    if (less) { pen.fillStyle = "#ffffff"; pen.fillRect((n % columns) * 4 + 1, Math.floor(n / columns) * 4 + 1, 2, 2); }
  }
}

function valid(state) {
  return Object.values(state.tlb).reduce((sum, rows) => sum + rows.length, 0);
}

function showInstant() {
  const count = data.instants.length;
  if (!count) { at("instant-view").innerHTML = "<p>The run was too short to look at it.</p>"; return; }
  view.instant = Math.max(0, Math.min(view.instant, count - 1));
  at("instant").value = String(view.instant);
  const state = data.instants[view.instant];
  // The slider may stand at the edge of a flush, too; the end of one may be the beginning of the next.
  const edge = (flush) => flush && (flush.before === view.instant || flush.after === view.instant);
  const chosen = edge(data.flushes[view.flush]) ? view.flush : data.flushes.findIndex(edge);
  const flush = data.flushes[chosen];
  const before = flush && flush.before === view.instant;
  const other = before ? data.instants[flush.after] : undefined;
  let words = `Cycle ${grouped(state.cycle)}, ${(((state.cycle - data.begin) / data.clock) * 1000).toPrecision(4)} ms after the program's start.`;
  if (flush) {
    const [from, to] = [data.instants[flush.before], data.instants[flush.after]];
    words += ` ${before ? "Before" : "After"} flush ${chosen + 1} (${mono(flush.function)}, ${cyclesOf(flush.cycles)}): the TLBs had ${valid(from)} entries before and ${valid(to)} after`;
    if (from.hash) words += `, the hash table ${grouped(from.hash.used)} and ${grouped(to.hash.used)}`;
    words += before ? ". Marked entries are gone afterwards." : ".";
  }
  let html = `<p id="instant-words">${words}</p><div class="legend"><span style="--c:var(--kernel)">the kernel's</span><span style="--c:var(--running)">the running process's</span><span style="--c:var(--other)">another's, or of a process that has ended</span><span>empty</span></div><div class="two">${Object.keys(data.tlb).map((side) => tlbGrid(side, state, other)).join("")}</div>`;
  if (state.hash) {
    const slots = state.hash.occupancy.length * 8;
    html += `<h3>Hash table: ${grouped(state.hash.used)} of ${grouped(slots)} slots used</h3><p class="quiet">Each square is a group of 8 slots, 64 groups in a line: group 0 is at the top left. The kernel has ${grouped(state.hash.owners.kernel)} entries, the running process ${grouped(state.hash.owners.running)}, others ${grouped(state.hash.owners.other)}.</p>
<div class="legend">${SHADES.map((shade, n) => `<span style="--c:${shade}">${n}${n === 8 ? " (full)" : ""}</span>`).join("")}</div><canvas class="table" id="table" role="img" aria-label="valid entries in each group of the hash table"></canvas>`;
  }
  at("instant-view").innerHTML = html;
  at("flushes").querySelectorAll("button").forEach((button) => {
    const now = flush && Number(button.dataset.flush) === chosen && (button.dataset.side === "before") === before;
    button.classList.toggle("main", Boolean(now));
  });
  if (state.hash) drawTable(at("table"), state, other && other.hash ? other : undefined);
}

function flushButtons() {
  at("flushes").innerHTML = data.flushes.map((flush, n) =>
    `<span class="buttons"><button data-flush="${n}" data-side="before">before flush ${n + 1}</button><button data-flush="${n}" data-side="after">after</button></span>`).join(" ");
  at("flushes").addEventListener("click", (event) => {
    const chosen = event.target.dataset;
    if (chosen.flush !== undefined) {
      const flush = Number(chosen.flush);
      select({ flush, instant: data.flushes[flush][chosen.side] });
    }
  });
}

// --- Charts ---

function charts() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const [ink, line] = [colour("--ink"), colour("--line")];
  const config = {
    background: null, view: { stroke: null }, title: { color: ink },
    axis: { labelColor: ink, titleColor: ink, domainColor: line, tickColor: line, gridColor: line, labelFontSize: 12, titleFontSize: 12 },
    legend: { labelColor: ink, titleColor: ink, orient: "bottom", columns: Math.max(2, Math.floor(window.innerWidth / 160)) },
    text: { color: ink },
  };
  return Promise.all(Object.entries(data.charts).map(([name, spec]) =>
    window.vegaEmbed("#chart-" + name, spec, { actions: false, renderer: "svg", config })));
}

// --- Flame graph ---

let root;
let zoomed;

function tree(profile) {
  const names = profile.shared.frames.map((frame) => frame.name);
  const made = (name, parent) => ({ name, parent, cycles: 0, below: new Map() });
  const top = made("all", null);
  const { samples, weights } = profile.profiles[0];
  samples.forEach((stack, n) => {
    let frame = top;
    frame.cycles += weights[n];
    for (const index of stack) {
      const name = names[index];
      if (!frame.below.has(name)) frame.below.set(name, made(name, frame));
      frame = frame.below.get(name);
      frame.cycles += weights[n];
    }
  });
  return top;
}

function shade(name) {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.charCodeAt(0)) % 997;
  return name.endsWith("_[k]") ? `hsl(${200 + (sum % 30)} 70% ${66 + (sum % 12)}%)` : `hsl(${25 + (sum % 30)} 85% ${62 + (sum % 12)}%)`;
}

function drawFlame() {
  const wanted = at("flame-search").value.trim().toLowerCase();
  const boxes = [];
  let depth = 0;
  const add = (frame, left, width, level, outer) => {
    if (width < 0.0008) return;
    depth = Math.max(depth, level + 1);
    const share = ((100 * frame.cycles) / Math.max(root.cycles, 1)).toFixed(2);
    const element = document.createElement("button");
    element.className = "frame" + (outer ? " outer" : "") + (wanted && frame.name.toLowerCase().includes(wanted) ? " found" : "");
    element.style.cssText = `left:${100 * left}%;width:${100 * width}%;top:${level * 19}px;background:${shade(frame.name)}`;
    element.textContent = frame.name.replace("_[k]", "");
    element.title = `${frame.name.replace("_[k]", " (kernel)")}: ${cyclesOf(frame.cycles)}, ${share} % of the program`;
    element.addEventListener("click", () => { zoomed = frame; drawFlame(); });
    boxes.push(element);
    if (outer) return;
    let from = left;
    const below = [...frame.below.values()].sort((a, b) => b.cycles - a.cycles || (a.name < b.name ? -1 : 1));
    for (const inner of below) {
      const innerWidth = (width * inner.cycles) / frame.cycles;
      add(inner, from, innerWidth, level + 1, false);
      from += innerWidth;
    }
  };
  const outer = [];
  for (let frame = zoomed.parent; frame; frame = frame.parent) outer.unshift(frame);
  outer.forEach((frame, level) => add(frame, 0, 1, level, true));
  add(zoomed, 0, 1, outer.length, false);
  at("flame-graph").replaceChildren(...boxes);
  at("flame-graph").style.height = depth * 19 + "px";
  at("flame-chosen").textContent = `${zoomed.name.replace("_[k]", " (kernel)")}: ${cyclesOf(zoomed.cycles)}, ${((100 * zoomed.cycles) / Math.max(root.cycles, 1)).toFixed(2)} % of the program`;
  at("flame-reset").disabled = zoomed === root;
}

// --- The page ---

function select(changes) {
  Object.assign(view, changes);
  if ("kind" in changes) {
    const among = selection();
    if (!among.includes(view.miss)) Object.assign(view, { miss: among[0] || 0, step: 0 });
    fillMisses();
  }
  if ("miss" in changes) at("miss").value = String(view.miss);
  if ("miss" in changes || "step" in changes || "kind" in changes) showMiss();
  if ("instant" in changes) showInstant();
  history.replaceState(null, "", `#miss=${view.miss + 1}&step=${view.step + 1}&instant=${view.instant + 1}`);
}

function moveMiss(by) {
  const among = selection();
  const next = among[among.indexOf(view.miss) + by];
  if (next !== undefined) select({ miss: next, step: 0 });
}

// What the fragment selects; numbers in it count from 1. Anything else in it is left alone.
function fromFragment() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const name of ["miss", "step", "instant"]) {
    const value = parseInt(wanted.get(name), 10);
    if (value >= 1) view[name] = value - 1;
  }
  view.miss = Math.min(view.miss, Math.max(data.misses.length - 1, 0));
}

// If the fragment selects nothing, begin with the longest walk that found its page: of the program that the page is about, or of another
// one, if there is one.
function interesting() {
  const own = (miss) => (miss.program || "").endsWith(`/${data.file}`);
  const worth = (miss) => (own(miss) ? 2000 : 0) + (miss.mode === "user" ? 1000 : 0) + ("way" in miss ? 500 : 0) + (miss.walk || []).filter((step) => step.table).length;
  return data.misses.reduce((best, miss, n) => (worth(miss) > worth(data.misses[best]) ? n : best), 0);
}

function kinds() {
  const counts = new Map();
  data.misses.forEach((miss) => counts.set(kindOf(miss, data), (counts.get(kindOf(miss, data)) || 0) + 1));
  at("kind").innerHTML = '<option value="">all</option>' + [...counts].sort().map(([kind, count]) => `<option value="${kind}">${kind} (${count})</option>`).join("");
}

function listen() {
  at("kind").addEventListener("change", () => select({ kind: at("kind").value }));
  at("miss").addEventListener("change", () => select({ miss: Number(at("miss").value), step: 0 }));
  at("previous-miss").addEventListener("click", () => moveMiss(-1));
  at("next-miss").addEventListener("click", () => moveMiss(1));
  at("previous-step").addEventListener("click", () => select({ step: view.step - 1 }));
  at("next-step").addEventListener("click", () => select({ step: view.step + 1 }));
  at("instant").max = String(Math.max(data.instants.length - 1, 0));
  at("instant").addEventListener("input", () => select({ instant: Number(at("instant").value), flush: -1 }));
  at("flame-search").addEventListener("input", drawFlame);
  at("flame-reset").addEventListener("click", () => { zoomed = root; drawFlame(); });
  const blob = new Blob([JSON.stringify(data.profile)], { type: "application/json" });
  at("flame-download").href = URL.createObjectURL(blob);
  window.addEventListener("hashchange", () => { fromFragment(); showMiss(); fillMisses(); showInstant(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", charts);
  document.addEventListener("keydown", (event) => {
    if (["INPUT", "SELECT"].includes(event.target.tagName)) return;
    if (event.key === "ArrowRight" && view.step < steps.length - 1) select({ step: view.step + 1 });
    if (event.key === "ArrowLeft" && view.step > 0) select({ step: view.step - 1 });
  });
}

// Called by the page's last script. A page that was cut off does not have it, and its warning stays.
function start() {
  try {
    data = JSON.parse(at("data").textContent);
    if (data.misses.length) view.miss = interesting();
    fromFragment();
    kinds();
    fillMisses();
    listen();
    showMiss();
    flushButtons();
    showInstant();
    root = zoomed = tree(data.profile);
    drawFlame();
    at("broken").hidden = true;
    charts().then(() => { document.body.dataset.ready = "yes"; });
  } catch (error) {
    at("broken").textContent = `This page cannot be shown: ${error.message}. Write it again with pagewalk see.`;
    at("broken").hidden = false;
  }
}
