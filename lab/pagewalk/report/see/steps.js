// One TLB miss as a list of steps: what happens, in words, and how long it takes.
"use strict";

const hex = (value, digits) => "0x" + (value >>> 0).toString(16).padStart(digits, "0");
const number = (text) => parseInt(text, 16);
const grouped = (value) => value.toLocaleString("en-US");
const cyclesOf = (count) => grouped(count) + (count === 1 ? " cycle" : " cycles");
const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const mono = (text) => `<span class="mono">${escaped(text)}</span>`;

// The hardware walks the page tables: of a hash table, or of a tree.
const byHardware = (data) => data.kind === "hash" || data.kind === "radix";
// The page tables are a tree, which no segment register and no hash leads to.
const hasTree = (miss) => "level_one" in miss || "cr3" in miss;
// The number of an address's bits that choose an entry at each level.
const levelBits = (miss) => (miss.entry_bytes === 8 ? [11, 9] : [10, 10]);
const tlbOf = (miss, data) => ("unified" in data.tlb ? "TLB" : `${miss.side} TLB`);

function outcomeOf(miss, data) {
  const match = (miss.walk || []).filter((step) => step.found === "match").pop();
  if (match) return `found in the ${match.table} group`;
  if (!("way" in miss)) return "not found";
  if (!byHardware(data)) return "loaded by software";
  return miss.walk && !miss.walk.length ? "found in the second-level TLB" : "found";
}

// Whose miss it is, where there are several processors.
function placeOf(miss) {
  return "processor" in miss ? `processor ${miss.processor}, ` : "";
}

function kindOf(miss, data) {
  return `${placeOf(miss)}${miss.side}, ${miss.mode}, ${outcomeOf(miss, data)}`;
}

// How long an access took, and when it began.
function timeOf(step) {
  if (step.took === undefined) return "";
  const when = `from cycle ${grouped(step.at)}`;
  if (step.count > 1) return `(${step.count} accesses, ${when}; ${step.took ? "they waited " + cyclesOf(step.took) + " for the cache" : "the cache had all, so they did not wait"})`;
  if (step.software) return `(${when}; ${step.took ? "it waited " + cyclesOf(step.took) + " for the cache" : "the cache had it, so it did not wait"})`;
  return `(${cyclesOf(step.took)}, ${when})`;
}

function pageOf(entry) {
  if (!entry) return "empty";
  const space = entry.space === "untagged" ? "" : `, ${entry.space}`;
  if (entry.page && number(entry.page) >>> 28 >= 12) return `kernel page ${entry.page}${space}`;
  const where = entry.page ? "page " + entry.page : "page " + entry.page_in_segment + " of its segment";
  return where + (entry.program ? ` of ${entry.program}` : "") + space;
}

// The steps before memory is read.
function lookups(miss, data) {
  const verb = miss.side === "instruction" ? "fetches an instruction from" : "accesses the data at";
  const where = "processor" in miss ? ` on processor ${miss.processor}` : "";
  const who = `${escaped(miss.program)}, in ${mono(miss.function)} (${miss.mode} mode)${where},`;
  const steps = [];
  const tree = hasTree(miss);
  const [first, second] = levelBits(miss);
  steps.push({
    part: "address", title: "The address",
    text: `${who} ${verb} ${mono(miss.address)}. The processor splits the address: ` + (tree
      ? `the first ${first} bits and the next ${second} bits are places in two levels of page tables, the last 12 bits are the byte within the page.`
      : "the first 4 bits choose a segment, the next 16 bits are the page within the segment, the last 12 bits are the byte within the page."),
  });
  if (!tree) {
    steps.push({
      part: "segment", title: "The segment register",
      text: `Segment register ${miss.segment} holds the VSID ${mono(miss.vsid)}. The kernel gives each segment of each process its own VSID, so that VSID and page together name one page of the whole system.`,
    });
  }
  const ways = (miss.ways || []).length;
  const free = (miss.ways || []).filter((way) => !way).length;
  const held = free === ways ? "All are empty" : free ? `${ways - free} have other pages, ${free} are empty` : "All have other pages";
  steps.push({
    part: "tlb", title: "Look into the TLB",
    text: ("level_one" in miss
      ? `The ${miss.side} TLB compares all of its ${ways} entries at once. `
      : `The last bits of the page number choose set ${miss.set} of the ${tlbOf(miss, data)}, which has ${ways} entries (ways). `)
      + `${held}: this is a <b>TLB miss</b>. The page tables in memory must be read.`,
  });
  if (data.kind === "radix") {
    steps.push({
      part: "tables", title: "The processor walks",
      text: `CR3 holds ${mono(miss.cr3)}: ${miss.entry_bytes === 8
        ? "a table of four entries, which the processor has read when CR3 was loaded. The first 2 bits of the address choose one of them, the next 9 bits an entry of the table that it names."
        : "the address of the page directory. The first 10 bits of the address choose an entry of it."}`,
    });
    return steps;
  }
  if (tree) {
    steps.push({
      part: "tables", title: "Exception: software must help",
      text: `This processor does not read page tables by itself. It takes an exception, and the kernel's handler walks two levels of tables. The register M_TWB gives the address of the level-1 entry: ${mono(miss.level_one)}.`,
    });
    return steps;
  }
  // The handler of a 603 may use the kernel's own tree of tables alone.
  const walked = (miss.walk || []).map((step) => step.table);
  const treeOnly = walked.includes("level 1") && !walked.includes("primary") && !walked.includes("secondary");
  const how = treeOnly
    ? `The processor prepares a search of a hash table: VSID and page are combined (exclusive or) to the hash ${mono(miss.hash)}. But this kernel's handler does not use it: it keeps the translations in a tree of two tables, and reads this.`
    : `The page table is one big hash table. VSID and page are combined (exclusive or) to the hash ${mono(miss.hash)}. It chooses the <b>primary group</b> of 8 slots at ${mono(miss.primary)}; the inverted hash chooses the <b>secondary group</b> at ${mono(miss.secondary)}. The page's entry can be in these 16 slots only.`;
  steps.push({ part: "hash", title: "Compute the hash", text: how });
  if (data.kind === "soft6xx") {
    steps.push({
      part: "hash", title: "Exception: software must search",
      text: `This processor does not search by itself. It puts the address, the wanted entry and both groups' addresses into registers (${miss.side === "instruction" ? "IMISS, ICMP" : "DMISS, DCMP"}, HASH1, HASH2) and takes an exception. The kernel's handler goes on, with translation off.`,
    });
  }
  return steps;
}

// A memory access as a step.
function access(step, miss, data) {
  const made = { at: step.at, took: step.took };
  const value = mono(step.value);
  if (step.table === "primary" || step.table === "secondary") {
    Object.assign(made, { part: step.table, slot: step.slot, found: step.found });
    if (step.store) {
      return { ...made, title: "Set a bit of the entry", text: `The entry at ${mono(step.address)} is marked: the page has been used (R), or written to (C). The kernel reads these bits later.` };
    }
    made.title = `Read slot ${step.slot} of the ${step.table} group`;
    if (step.found === "empty") made.text = "The slot is empty.";
    else if (step.found === "match") {
      const frame = step.bytes === 8 ? ` It is in physical page ${mono(hex(number(step.value.slice(-8)) & 0xfffff000, 8))}.` : "";
      made.text = `<b>This is the page</b>: VSID and page number match.${frame}`;
    } else if (step.found === "other") {
      made.text = `The slot has another page: VSID ${mono(step.vsid)}, page ${mono(step.page_index)}${step.by_secondary_hash ? ", stored by its secondary hash" : ""}. Go on.`;
    } else made.text = `The handler reads ${value}: the second half of the entry, with the physical page and its permissions.`;
    return made;
  }
  if (step.table) {
    const level = step.table === "level 1" ? 1 : 2;
    const [, second] = levelBits(miss);
    const index = level === 1 ? (number(miss.address) >>> (12 + second)) & ((1 << second) - 1) : (number(miss.address) >>> 12) & ((1 << second) - 1);
    made.part = "level" + level;
    if (step.store) {
      return { ...made, title: `Set a bit of the level-${level} entry`, text: `The entry at ${mono(step.address)} is marked: the page has been used (accessed), or written to (dirty). The kernel reads these bits later.` };
    }
    made.title = `Read the page tables: level ${level}`;
    made.text = `Word ${index} of the level-${level} table, at ${mono(step.address)}, holds ${value}: ` + (number(step.value) === 0
      ? "nothing is mapped here."
      : level === 1 ? "the address of the level-2 table (and some bits)." : "the physical page and its permissions.");
    return made;
  }
  const who = byHardware(data) ? "walker" : "handler";
  made.part = "memory";
  made.title = step.store ? `The ${who} writes` : `The ${who} reads`;
  made.text = `${step.store ? "It writes" : "It reads"} ${value} ${step.store ? "to" : "from"} ${mono(step.address)}` + (who === "handler" ? ": data of its own, such as saved registers." : ", another table of its own.");
  return made;
}

// The accesses as steps. What the handler reads and writes for itself, one after the other, is one step.
function accesses(miss, data) {
  const made = [];
  for (const read of miss.walk || []) {
    const step = { ...access(read, miss, data), source: read, software: !byHardware(data), count: 1 };
    const last = made[made.length - 1];
    if (step.software && step.part === "memory" && last && last.part === "memory") {
      last.count += 1;
      last.took += step.took;
      last.end = step.at + step.took;
      last.title = `The handler's own data: ${last.count} accesses`;
      last.text = "The handler saves the registers that it needs, reads data of its own, and restores the registers before it ends.";
    } else made.push(step);
  }
  return made;
}

function stepsOf(miss, data) {
  const steps = lookups(miss, data);
  if (!miss.walk) {
    steps.push({ part: "memory", title: "The walk", text: "The steps of this walk were not recorded: the recording had reached its limit." });
  }
  steps.push(...accesses(miss, data));
  const software = !byHardware(data);
  if (!software && miss.walk && !miss.walk.length) {
    steps.push({ part: "memory", title: "Ask the second-level TLB", text: "This machine has a second, larger TLB. It has the page, so that the page tables need not be read." });
  }
  if (software && miss.walk && !miss.walk.some((step) => step.table)) {
    steps.push({ part: "memory", title: "The handler walks the tables", text: "The handler reads the page tables with translation on, in C or for another reason. Such accesses are not recorded one by one." });
  }
  if ("way" in miss) {
    const victim = miss.victim ? `It replaces ${escaped(pageOf(miss.victim))}, which will miss when it is used again.` : "Nothing had to go.";
    const place = "level_one" in miss ? `entry ${miss.way}` : `way ${miss.way} of set ${miss.set}`;
    steps.push({ part: "load", title: "Load the TLB", text: `The translation goes into ${place}. ${victim} The access is repeated, and now it hits. ${"cycles" in miss ? "The miss took " + cyclesOf(miss.cycles) + "." : ""}` });
  } else {
    steps.push({
      part: "load", title: software ? "No entry was loaded" : "Not found: page fault",
      text: software
        ? "The handler loaded no entry for this page: the page is not mapped, so that a page fault follows, or another miss came first."
        : data.kind === "radix"
        ? `The tables have no entry that allows the access${"cycles" in miss ? ", which took " + cyclesOf(miss.cycles) + " to find out" : ""}: the processor raises a page fault. The kernel maps the page, or ends the program.`
        : `None of the 16 slots has the page${"cycles" in miss ? ", which took " + cyclesOf(miss.cycles) + " to find out" : ""}. The processor raises an exception. The kernel looks into its own page tables: if the page is mapped, it puts an entry into the hash table; else it is a page fault. Then the access is repeated.`,
    });
  }
  return steps;
}
