//! House rules, checked on the project's own files; each rule with a case that it must catch.
//!
//!   files ──► rules ──► findings (file:line: what) ──► none
//!
//! Sizes and width of lines, homes of unsafe code, printing and child processes, complete stages,
//! promises of headers and docs, words that belong to one machine. `docs/architecture.md` says why.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use groove_spec::STAGES;
use proc_macro2::{Span, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

const COLUMNS_MAX: usize = 100;
const FILE_LINES_MAX: usize = 400;
const FUNCTION_LINES_MAX: usize = 70;
/// A RustHDL `update` is one combinational block and cannot call functions.
const UPDATE_LINES_MAX: usize = 120;

const UNSAFE_HOMES: [&str; 6] = [
    "driver/src/dma",
    "driver/src/vfio",
    // Two ioctls, which no crate of ours wraps.
    "host/serve/src/tap.rs",
    "host/oracle/src/sys",
    "verilator/src/",
    "verilator/tests/",
];
const PRINTING_HOMES: [&str; 5] = [
    "host/cli/src/main.rs",
    "host/cli/src/commands",
    "driver/examples/",
    "host/bench/benches/",
    "xtask/src/",
];
const PROCESS_HOMES: [&str; 7] = [
    "verilator/src/process.rs",
    "host/vm/src/process.rs",
    "host/cli/tests/",
    "tests/tests/dependencies.rs",
    "tests/tests/driver_mutants.rs",
    "tests/tests/recordings.rs",
    // cargo-mutants.
    "xtask/src/software.rs",
];

/// A text file of the project.
struct Source {
    /// Path from the workspace root, with `/`.
    path: String,
    text: String,
}

impl Source {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
    /// Code that exists for tests: the crate `tests`, each crate's `tests` directory, `*_tests.rs`.
    fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || self.path.ends_with("_tests.rs")
    }
    fn is_product(&self) -> bool {
        self.is_rust() && !self.is_test()
    }
    fn in_any(&self, homes: &[&str]) -> bool {
        homes.iter().any(|home| self.path.starts_with(home))
    }
    fn parse(&self) -> syn::File {
        syn::parse_file(&self.text).unwrap_or_else(|e| panic!("{}: {e}", self.path))
    }
    fn finding(&self, line: usize, what: impl std::fmt::Display) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests is a member").to_owned()
}

fn collect(directory: &Path, root: &Path, sources: &mut Vec<Source>) {
    const SKIPPED: [&str; 4] = ["target", "build", ".git", "__pycache__"];
    const TEXT: [&str; 11] =
        ["", "rs", "md", "toml", "sh", "py", "json", "snap", "txt", "v", "vlt"];
    let mut entries: Vec<_> = fs::read_dir(directory).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(&path, root, sources);
        } else if TEXT.contains(&path.extension().map_or("", |e| e.to_str().unwrap_or("?"))) {
            let from_root = path.strip_prefix(root).unwrap().to_str().expect("names are UTF-8");
            if let Ok(text) = fs::read_to_string(&path) {
                sources.push(Source { path: from_root.replace('\\', "/"), text });
            }
        }
    }
}

fn sources() -> Vec<Source> {
    let mut sources = vec![];
    collect(&root(), &root(), &mut sources);
    assert!(sources.iter().filter(|s| s.is_product()).count() > 20, "found too few sources");
    sources
}

#[track_caller]
fn holds(rule: impl Fn(&Source) -> Vec<String>) {
    let found: Vec<_> = sources().iter().flat_map(rule).collect();
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
}

/// The rule's findings in one made-up file.
fn find(rule: impl Fn(&Source) -> Vec<String>, path: &str, text: &str) -> Vec<String> {
    rule(&Source { path: path.into(), text: text.into() })
}

// --- sizes ---------------------------------------------------------------------------------------

/// 100 columns; a string literal at the limit may stand, as rustfmt leaves it.
fn columns(source: &Source) -> Vec<String> {
    if !(source.is_rust() || source.path.ends_with(".py") || source.path.starts_with("setup/")) {
        return vec![];
    }
    let too_long = |line: &str| {
        let beyond: String = line.chars().skip(COLUMNS_MAX - 2).collect();
        // A literal that goes on in the next line, or that closes here, perhaps before a comma.
        let is_literal = line.ends_with('\\') || beyond.contains('"');
        let is_comment = line.trim_start().starts_with("//");
        line.chars().count() > COLUMNS_MAX && (is_comment || !is_literal)
    };
    let lines = source.text.lines().enumerate().filter(|(_, line)| too_long(line));
    lines.map(|(i, _)| source.finding(i + 1, "longer than 100 columns")).collect()
}

#[test]
fn lines_fit_100_columns() {
    holds(columns);
}

#[test]
fn catches_a_line_of_101_columns() {
    assert!(find(columns, "a.rs", &"x".repeat(100)).is_empty());
    assert_eq!(find(columns, "a.rs", &"x".repeat(101)), ["a.rs:1: longer than 100 columns"]);
    let long = "x".repeat(100);
    assert!(find(columns, "a.rs", &format!("    text: \"{long}\",")).is_empty());
    assert!(find(columns, "a.rs", &format!("    \"{long} \\")).is_empty());
    assert_eq!(find(columns, "a.rs", &format!("    // \"{long}\"")).len(), 1);
}

fn is_test_only(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|a| {
        a.path().is_ident("cfg") && a.parse_args::<syn::Ident>().is_ok_and(|i| i == "test")
    })
}

fn line_count(span: Span) -> usize {
    span.end().line + 1 - span.start().line
}

/// 400 lines, test modules not counted.
fn file_length(source: &Source) -> Vec<String> {
    if !source.is_product() {
        return vec![];
    }
    let tests: usize = source
        .parse()
        .items
        .iter()
        .map(|item| match item {
            syn::Item::Mod(m) if is_test_only(&m.attrs) => line_count(m.span()),
            _ => 0,
        })
        .sum();
    let lines = source.text.lines().count() - tests;
    if lines <= FILE_LINES_MAX {
        return vec![];
    }
    vec![source.finding(1, format!("{lines} lines without tests; the limit is {FILE_LINES_MAX}"))]
}

#[test]
fn files_have_at_most_400_lines() {
    holds(file_length);
}

#[test]
fn catches_a_file_of_401_lines() {
    let lines = |n| "// x\n".repeat(n);
    let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", lines(500));
    assert!(find(file_length, "a/src/a.rs", &(lines(400) + &tests)).is_empty());
    assert_eq!(find(file_length, "a/src/a.rs", &(lines(401) + &tests)).len(), 1);
}

/// Walks functions and expressions, knowing whether it stands in test code.
struct Functions<'a> {
    source: &'a Source,
    found: Vec<String>,
}

impl Functions<'_> {
    fn check(&mut self, name: &syn::Ident, attributes: &[syn::Attribute], span: Span) {
        let is_kernel = attributes.iter().any(|a| a.path().is_ident("hdl_gen"));
        let limit = if is_kernel { UPDATE_LINES_MAX } else { FUNCTION_LINES_MAX };
        let lines = line_count(span);
        if lines > limit {
            let what = format!("fn {name} has {lines} lines; the limit is {limit}");
            self.found.push(self.source.finding(span.start().line, what));
        }
        if name.to_string().starts_with("get_") {
            let what = format!("fn {name}: name it after what it gives, without get_");
            self.found.push(self.source.finding(span.start().line, what));
        }
    }
}

/// From the signature to the closing brace; attributes and docs do not count.
fn body(signature: &syn::Signature, block: &syn::Block) -> Span {
    signature.fn_token.span().join(block.brace_token.span.close()).expect("one file")
}

impl<'a> Visit<'a> for Functions<'_> {
    fn visit_item_fn(&mut self, f: &'a syn::ItemFn) {
        self.check(&f.sig.ident, &f.attrs, body(&f.sig, &f.block));
        visit::visit_item_fn(self, f);
    }
    fn visit_impl_item_fn(&mut self, f: &'a syn::ImplItemFn) {
        self.check(&f.sig.ident, &f.attrs, body(&f.sig, &f.block));
        visit::visit_impl_item_fn(self, f);
    }
    fn visit_trait_item_fn(&mut self, f: &'a syn::TraitItemFn) {
        if let Some(block) = &f.default {
            self.check(&f.sig.ident, &f.attrs, body(&f.sig, block));
        }
        visit::visit_trait_item_fn(self, f);
    }
}

/// 70 lines, a RustHDL kernel 120; no `get_` prefix.
fn functions(source: &Source) -> Vec<String> {
    if !source.is_rust() {
        return vec![];
    }
    let file = source.parse();
    let mut visitor = Functions { source, found: vec![] };
    visitor.visit_file(&file);
    visitor.found
}

#[test]
fn functions_are_small_and_named_after_what_they_give() {
    holds(functions);
}

#[test]
fn catches_long_functions_and_get_prefixes() {
    let function =
        |head: &str, lines: usize| format!("{head} {{\n{}}}\n", "    x();\n".repeat(lines - 2));
    assert!(find(functions, "a.rs", &function("fn f()", 70)).is_empty());
    assert_eq!(find(functions, "a.rs", &function("fn f()", 71)).len(), 1);
    let kernel =
        |lines| format!("impl L {{\n#[hdl_gen]\n{}}}\n", function("fn update(&mut self)", lines));
    assert!(find(functions, "a.rs", &kernel(120)).is_empty());
    assert_eq!(find(functions, "a.rs", &kernel(121)).len(), 1);
    assert_eq!(find(functions, "a.rs", "fn get_x() {}").len(), 1);
}

// --- homes ---------------------------------------------------------------------------------------

/// Finds `unsafe`, printing, exiting and child processes. Macros are searched as tokens.
struct Homes<'a> {
    source: &'a Source,
    in_tests: bool,
    found: Vec<String>,
}

impl Homes<'_> {
    fn unsafe_at(&mut self, span: Span) {
        let line = span.start().line;
        if !self.source.in_any(&UNSAFE_HOMES) {
            self.found.push(self.source.finding(line, "unsafe outside its homes"));
        }
        let above: Vec<_> = self.source.text.lines().take(line).collect();
        let reason = above.iter().rev().take(12).take_while(|l| !l.trim().is_empty());
        if !reason.into_iter().any(|l| l.contains("SAFETY:") || l.contains("# Safety")) {
            self.found.push(self.source.finding(line, "unsafe without a SAFETY comment above it"));
        }
    }
    fn print_at(&mut self, span: Span, what: &str) {
        let allowed = self.in_tests || self.source.is_test() || self.source.in_any(&PRINTING_HOMES);
        if !allowed {
            let what = format!("{what} outside the command line's main and commands");
            self.found.push(self.source.finding(span.start().line, what));
        }
    }
    fn tokens(&mut self, tokens: proc_macro2::TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for (i, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(ident) if ident == "unsafe" => self.unsafe_at(ident.span()),
                TokenTree::Ident(ident) if is_printing(&ident.to_string()) => {
                    if matches!(tokens.get(i + 1), Some(TokenTree::Punct(p)) if p.as_char() == '!')
                    {
                        self.print_at(ident.span(), &format!("{ident}!"));
                    }
                }
                _ => {}
            }
        }
    }
}

fn is_printing(name: &str) -> bool {
    matches!(name, "print" | "println" | "eprint" | "eprintln" | "dbg")
}

impl<'a> Visit<'a> for Homes<'_> {
    fn visit_item_mod(&mut self, m: &'a syn::ItemMod) {
        let before = self.in_tests;
        self.in_tests |= is_test_only(&m.attrs);
        visit::visit_item_mod(self, m);
        self.in_tests = before;
    }
    fn visit_expr_unsafe(&mut self, e: &'a syn::ExprUnsafe) {
        self.unsafe_at(e.unsafe_token.span());
        visit::visit_expr_unsafe(self, e);
    }
    fn visit_signature(&mut self, s: &'a syn::Signature) {
        if let Some(token) = s.unsafety {
            self.unsafe_at(token.span());
        }
        visit::visit_signature(self, s);
    }
    fn visit_item_impl(&mut self, i: &'a syn::ItemImpl) {
        if let Some(token) = i.unsafety {
            self.unsafe_at(token.span());
        }
        visit::visit_item_impl(self, i);
    }
    fn visit_macro(&mut self, m: &'a syn::Macro) {
        let name = m.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
        if is_printing(&name) {
            self.print_at(m.span(), &format!("{name}!"));
        }
        self.tokens(m.tokens.clone());
    }
    fn visit_path(&mut self, p: &'a syn::Path) {
        let names: Vec<_> = p.segments.iter().map(|s| s.ident.to_string()).collect();
        let ends_in = |two: [&str; 2]| names.ends_with(&two.map(str::to_owned));
        if ends_in(["process", "exit"]) {
            self.print_at(p.span(), "process::exit");
        }
        if ends_in(["Command", "new"]) && !self.source.in_any(&PROCESS_HOMES) {
            let what = "a child process outside the files that start them";
            self.found.push(self.source.finding(p.span().start().line, what));
        }
        visit::visit_path(self, p);
    }
}

fn homes(source: &Source) -> Vec<String> {
    if !source.is_rust() {
        return vec![];
    }
    let file = source.parse();
    let mut visitor = Homes { source, in_tests: false, found: vec![] };
    visitor.visit_file(&file);
    visitor.found
}

#[test]
fn unsafe_printing_and_processes_stay_in_their_homes() {
    holds(homes);
}

#[test]
fn catches_unsafe_printing_and_processes_elsewhere() {
    let outside = |text| find(homes, "host/model/src/a.rs", text);
    assert_eq!(outside("// SAFETY: no.\nfn f() { unsafe { g() } }").len(), 1);
    assert_eq!(outside("// SAFETY: no.\nunsafe impl Send for A {}").len(), 1);
    assert_eq!(outside("// SAFETY: no.\nunsafe fn f() {}").len(), 1);
    assert_eq!(outside("// SAFETY: no.\nfn f() { m!(unsafe { g() }); }").len(), 1);
    assert_eq!(outside("fn f() { println!(); }").len(), 1);
    assert_eq!(outside("fn f() { std::process::exit(1); }").len(), 1);
    assert_eq!(outside("fn f() { vec![dbg!(1)]; }").len(), 1);
    assert_eq!(outside("fn f() { std::process::Command::new(\"ls\"); }").len(), 1);
    assert!(outside("#[cfg(test)]\nmod tests { fn f() { println!(); } }").is_empty());

    let home = |text| find(homes, "verilator/src/library.rs", text);
    assert_eq!(home("fn f() { unsafe { g() } }").len(), 1);
    assert!(home("fn f() {\n    // SAFETY: g is total.\n    unsafe { g() }\n}").is_empty());
    assert_eq!(home("// SAFETY: of another thing.\n\nfn f() { unsafe { g() } }").len(), 1);
    assert!(find(homes, "host/cli/src/main.rs", "fn f() { println!(); }").is_empty());
}

// --- headers, promises, words --------------------------------------------------------------------

/// Every product file begins with what it is; nothing in it waits to be written.
fn headers(source: &Source) -> Vec<String> {
    // In two pieces, or they would be found here.
    let marks = [concat!("to", "do!("), concat!("unimpl", "emented!("), concat!("FIX", "ME")];
    let mut found = vec![];
    if source.is_product() && !source.text.starts_with("//! ") {
        found.push(source.finding(1, "no header: //! and one sentence that says what it is"));
    }
    for (i, line) in source.text.lines().enumerate().filter(|_| source.is_rust()) {
        if marks.iter().any(|mark| line.contains(mark)) || line.trim() == concat!("//! TO", "DO") {
            found.push(source.finding(i + 1, "unfinished"));
        }
    }
    found
}

#[test]
fn files_say_what_they_are_and_are_finished() {
    holds(headers);
}

#[test]
fn catches_missing_headers_and_unfinished_code() {
    assert_eq!(find(headers, "a/src/a.rs", "fn f() {}").len(), 1);
    assert_eq!(find(headers, "a/src/a.rs", concat!("//! A.\nfn f() { to", "do!() }")).len(), 1);
    assert_eq!(find(headers, "a/src/a.rs", concat!("//! TO", "DO\n")).len(), 1);
}

/// Names in backquotes that a text gives as tests: a header's invariants (`name`), docs test
/// `name`. A name is that of a test function, or of a file of tests.
fn promised(source: &Source) -> Vec<(usize, String)> {
    let is_docs = source.path.starts_with("docs/") && source.path.ends_with(".md");
    let mut in_invariants = false;
    let mut names = vec![];
    for (i, line) in source.text.lines().enumerate() {
        let starts: &[&str] = match line.strip_prefix("//!") {
            Some(text) if source.is_rust() => {
                in_invariants &= !text.trim().is_empty() && !text.starts_with(" Not here");
                in_invariants |= text.contains("Invariant");
                if in_invariants { &["(`"] } else { &[] }
            }
            None if is_docs => &["test `", "tests `"],
            _ => continue,
        };
        for (at, start) in starts.iter().flat_map(|s| line.match_indices(s)) {
            names.extend(listed(&line[at + start.len()..]).map(|name| (i + 1, name)));
        }
    }
    names
}

/// Test names of a list that was opened: name`, `name`.
fn listed(list: &str) -> impl Iterator<Item = String> {
    let is_name = |n: &&str| n.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    let mut rest = Some(list);
    std::iter::from_fn(move || {
        let (name, behind) = rest?.split_once('`')?;
        rest = behind.strip_prefix(", `");
        Some(name)
    })
    .filter(move |name| name.contains('_') && is_name(name))
    .map(str::to_owned)
}

fn broken_promises(sources: &[Source]) -> Vec<String> {
    let mut functions = BTreeSet::new();
    for source in sources.iter().filter(|s| s.is_rust()) {
        if source.is_test() {
            functions
                .extend(Path::new(&source.path).file_stem().map(|s| s.to_string_lossy().into()));
        }
        for (at, _) in source.text.match_indices("fn ") {
            let name =
                source.text[at + 3..].split(|c: char| c != '_' && !c.is_ascii_alphanumeric());
            functions.extend(name.take(1).map(str::to_owned));
        }
    }
    let promises = sources.iter().flat_map(|s| promised(s).into_iter().map(move |p| (s, p)));
    promises
        .filter(|(_, (_, name))| !functions.contains(name))
        .map(|(source, (line, name))| source.finding(line, format!("there is no test {name}")))
        .collect()
}

#[test]
fn tests_named_in_headers_and_docs_exist() {
    let found = broken_promises(&sources());
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
}

#[test]
fn catches_a_promise_without_a_test() {
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let header =
        "//! Steps (`of_kernel`).\n//! Invariant: x (`holds_x`, `holds_y`), all in (`a_file`).";
    let code = source("a/src/a.rs", &format!("{header}\nfn holds_x() {{}}"));
    let file = source("tests/tests/a_file.rs", "");
    let docs = source("docs/a.md", "Ends (test `holds_x`; tests `holds_x`, `holds_z`). `not_this`");
    assert_eq!(
        broken_promises(&[code, docs, file]),
        ["a/src/a.rs:2: there is no test holds_y", "docs/a.md:1: there is no test holds_z"]
    );
}

/// Paths of one machine and hosts of package registries.
fn machine_words(source: &Source) -> Vec<String> {
    // In two pieces, or they would be found here.
    let words = [
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/ho", "me/"),
        concat!("/tmp/gro", "ove"),
        concat!("crates", ".io/"),
        concat!("static.", "crates.io"),
        concat!("index.", "crates.io"),
        concat!("py", "pi.org"),
        concat!("files.python", "hosted.org"),
        concat!("registry.npm", "js.org"),
        concat!("deb.deb", "ian.org"),
        concat!("archive.ubu", "ntu.com"),
    ];
    let mut found = vec![];
    for (i, line) in source.text.lines().enumerate() {
        for word in words.iter().filter(|word| line.contains(**word)) {
            found.push(source.finding(i + 1, format!("{word}: a machine path or registry host")));
        }
    }
    found
}

#[test]
fn no_machine_paths_or_registry_hosts() {
    holds(machine_words);
}

#[test]
fn catches_a_machine_path() {
    assert_eq!(find(machine_words, "docs/a.md", concat!("see /wo", "rk/main")).len(), 1);
    assert_eq!(find(machine_words, "setup/a", concat!("curl https://py", "pi.org/x")).len(), 1);
}

/// One basename in spec, model, hdl, vectors and docs for every stage of the table.
fn missing_stage_files(names: &[&str], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let places = |name: &str| {
        [
            format!("hdl/spec/src/stages/{name}.rs"),
            format!("host/model/src/stages/{name}.rs"),
            format!("hdl/src/stages/{name}.rs"),
            format!("tests/vectors/{name}"),
            format!("docs/stages/{name}.md"),
        ]
    };
    names.iter().flat_map(|name| places(name)).filter(|path| !exists(path)).collect()
}

#[test]
fn every_stage_is_complete() {
    let names: Vec<_> = STAGES.iter().map(|s| s.name).collect();
    // Vectors are a directory with files in it.
    let has_files = |path: &Path| {
        fs::read_dir(path).is_ok_and(|mut entries| entries.any(|e| e.unwrap().path().is_file()))
    };
    let exists = |path: &str| root().join(path).is_file() || has_files(&root().join(path));
    let missing = missing_stage_files(&names, exists);
    assert!(missing.is_empty(), "missing: {missing:?}; docs/adding-a-stage.md says what they hold");
}

/// Stages of the NIC behind the pipeline: their meaning is that of the software device.
const NIC_STAGES: [&str; 2] = ["place", "complete"];

fn missing_nic_files(names: &[&str], exists: impl Fn(&str) -> bool) -> Vec<String> {
    let places = |name: &str| {
        [
            format!("host/device/src/{name}.rs"),
            format!("hdl/src/stages/{name}.rs"),
            format!("tests/tests/rtl_{name}.rs"),
            format!("docs/stages/{name}.md"),
        ]
    };
    names.iter().flat_map(|name| places(name)).filter(|path| !exists(path)).collect()
}

#[test]
fn every_stage_of_the_nic_is_complete() {
    let missing = missing_nic_files(&NIC_STAGES, |path| root().join(path).is_file());
    assert!(missing.is_empty(), "missing: {missing:?}");
    // And no stage is outside both lists.
    let known: Vec<_> = STAGES.iter().map(|s| s.name).chain(NIC_STAGES).collect();
    for entry in fs::read_dir(root().join("hdl/src/stages")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(known.contains(&name.as_str()), "{name} is in no list of stages");
    }
}

#[test]
fn catches_a_nic_stage_without_a_test() {
    let missing = missing_nic_files(&["place"], |path| !path.starts_with("tests/"));
    assert_eq!(missing, ["tests/tests/rtl_place.rs"]);
}

#[test]
fn catches_a_stage_without_a_page() {
    let missing = missing_stage_files(&["rss"], |path| !path.starts_with("docs/"));
    assert_eq!(missing, ["docs/stages/rss.md"]);
}

#[test]
fn catches_a_stage_without_vectors() {
    let missing = missing_stage_files(&["rss"], |path| !path.starts_with("tests/"));
    assert_eq!(missing, ["tests/vectors/rss"]);
}
