//! The table of docs/machine.md, which says which folder may use which, agrees with the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

type Arrows = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The names between backticks.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The table of the page: what each folder uses.
fn allowed() -> Arrows {
    let page = std::fs::read_to_string(root().join("docs/machine.md")).expect("the page");
    const ARCHITECTURES: [&str; 3] = ["powerpc", "x86", "riscv"];
    let rows = || {
        page.lines()
            .take_while(|line| !line.starts_with("| to add"))
    };
    let first = |line: &str| names(line).next().expect("a name").to_owned();
    let rooms = rows().filter(|line| line.starts_with("| `")).map(first);
    let rooms: BTreeSet<String> = rooms
        .filter(|name| !ARCHITECTURES.contains(&name.as_str()))
        .collect();
    rows()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let columns: Vec<&str> = line.split('|').collect();
            let [_, folder, _, uses, _] = columns[..] else {
                panic!("a row has three columns: {line}");
            };
            let folder = names(folder).next().expect("a name").to_owned();
            let named = names(uses).map(str::to_owned).collect();
            let all = uses.trim().starts_with("all below");
            let uses = if all { &rooms - &named } else { named };
            (folder, uses)
        })
        .collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The word after each `crate::` in code. Comments, and unit tests at a file's end, do not count.
fn uses(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    let code: Vec<&str> = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect();
    let code = code.join("\n");
    let name = |text: &str| -> String {
        let text = text.trim_start();
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
        text[..end.unwrap_or(text.len())].to_owned()
    };
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        found.insert(name(&code[at + "crate::".len()..]));
    }
    found
}

/// What each folder uses in the sources.
fn used() -> Arrows {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&folder, &mut files);
    let mut arrows = Arrows::new();
    for path in files {
        let inner = path.strip_prefix(&folder).expect("a source");
        let first = inner.iter().next().expect("a name").to_string_lossy();
        let room = first.trim_end_matches(".rs").to_owned();
        // The runner uses the library from outside, and tests use what they like.
        if matches!(room.as_str(), "lib" | "main" | "arguments" | "constants")
            || inner.ends_with("tests.rs")
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        let others = uses(&text).into_iter().filter(|name| *name != room);
        arrows.entry(room.clone()).or_default().extend(others);
    }
    arrows
}

#[test]
fn the_map_is_true() {
    let (allowed, used) = (allowed(), used());
    assert!(allowed.len() > 10, "the table was found");
    for (folder, others) in &used {
        let listed = allowed
            .get(folder)
            .unwrap_or_else(|| panic!("docs/machine.md has no row for `{folder}`"));
        let more: Vec<_> = others.difference(listed).collect();
        assert!(
            more.is_empty(),
            "{folder} uses {more:?}, which docs/machine.md does not list"
        );
        let fewer: Vec<_> = listed.difference(others).collect();
        assert!(
            fewer.is_empty(),
            "docs/machine.md lists {fewer:?} for {folder}, which does not use it"
        );
    }
    for folder in allowed.keys() {
        assert!(
            used.contains_key(folder),
            "docs/machine.md has a row for `{folder}`, which is no folder"
        );
    }
}

/// The folders that can be reached from `folder` along arrows.
fn reached<'a>(arrows: &'a Arrows, folder: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = vec![folder];
    while let Some(folder) = next.pop() {
        for other in arrows.get(folder).into_iter().flatten() {
            if found.insert(other.as_str()) {
                next.push(other);
            }
        }
    }
    found
}

/// A screen has 50 lines of 120 columns.
#[test]
fn the_map_has_two_screens() {
    let page = std::fs::read_to_string(root().join("docs/machine.md")).expect("the page");
    let map = page.lines().take_while(|line| !line.starts_with("## "));
    let lines: usize = map
        .map(|line| line.chars().count().div_ceil(120).max(1))
        .sum();
    assert!(lines <= 100, "{lines} lines");
}

/// Each file that the pages name is there. On an architecture's page a name alone is a file of its folder or of its
/// tests.
#[test]
fn the_files_of_the_pages_are_there() {
    let machine = root().join("machine");
    for page in ["machine", "x86", "riscv"] {
        let text = std::fs::read_to_string(root().join(format!("docs/{page}.md"))).expect("a page");
        for name in names(&text).filter(|name| !name.contains([' ', '*', '<', '!'])) {
            let folder = name.ends_with('/') && !name.starts_with('/');
            let file = name.ends_with(".rs") && (name.contains('/') || page != "machine");
            if !folder && !file {
                continue;
            }
            let mut places = vec![machine.join("src"), root(), machine.join("tests")];
            // A folder inside of an architecture, in its row.
            places.extend(["powerpc", "x86", "riscv"].map(|inner| machine.join("src").join(inner)));
            if page != "machine" {
                places.extend([machine.clone(), machine.join("tests").join(page)]);
            }
            let there = places.iter().any(|place| place.join(name).exists());
            assert!(there, "docs/{page}.md names {name}");
        }
    }
}

/// The table of docs/x86.md has each file of `x86/`.
#[test]
fn the_page_of_x86_has_all_its_files() {
    let page = std::fs::read_to_string(root().join("docs/x86.md")).expect("the page");
    let table: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    let table = table.join("\n");
    let named: BTreeSet<&str> = names(&table).collect();
    for entry in std::fs::read_dir(root().join("machine/src/x86")).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_str().expect("a name");
        if name.ends_with(".rs") && name != "mod.rs" {
            assert!(named.contains(name), "docs/x86.md does not name {name}");
        }
    }
}

/// Arrows run one way.
#[test]
fn the_arrows_have_no_circle() {
    let arrows = used();
    let circle = arrows.keys().filter(|folder| {
        let reached = reached(&arrows, folder);
        reached.contains(folder.as_str())
    });
    assert_eq!(circle.count(), 0);
}

/// Decoded code is kept and run without a word of an instruction set, and PowerPC's engine knows no kind of MMU.
#[test]
fn the_engines_know_no_kind_of_mmu() {
    let mut files = Vec::new();
    for folder in ["src/engine", "src/powerpc/engine"] {
        sources(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
            &mut files,
        );
    }
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file");
        for word in ["wimg", "WIMG", "BAT", "segment register", "PTE"] {
            assert!(!text.contains(word), "{} says \"{word}\"", file.display());
        }
    }
}

/// What the page says of the toy's size.
#[test]
fn an_architecture_can_be_small() {
    let mut files = Vec::new();
    let toy = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/toy");
    sources(&toy, &mut files);
    let lines = |file| std::fs::read_to_string(file).expect("a source file");
    let all: usize = files.iter().map(|file| lines(file).lines().count()).sum();
    assert!(files.len() == 3 && all < 700, "{all} lines");
}
