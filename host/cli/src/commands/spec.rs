//! `groove spec`: shows the table, and keeps the generated parts of the docs equal to it.

use std::fs;
use std::path::{Path, PathBuf};

use super::output;
use crate::cli::SpecAction;
use crate::spec::{self, Page};
use crate::{Failure, exit};

/// Command that repairs stale docs.
const REPAIR: &str = "cargo run --package groove -- spec write";

/// Runs the command.
pub fn run(action: &SpecAction) -> Result<(), Failure> {
    match action {
        SpecAction::Show { json: false } => output::data(&spec::show()),
        SpecAction::Show { json: true } => output::data(&format!("{:#}", spec::json())),
        SpecAction::Write { docs } => write(docs),
        SpecAction::Check { docs } => check(docs),
    }
}

fn write(docs: &Path) -> Result<(), Failure> {
    for (path, page) in pages(docs)? {
        if page.stale.is_empty() {
            continue;
        }
        fs::write(&path, &page.text).map_err(|e| {
            Failure::caused(exit::USAGE, format!("failed to write {}", path.display()), &e)
        })?;
        output::talk(&format!("{}: wrote {}", path.display(), page.stale.join(", ")))?;
    }
    Ok(())
}

fn check(docs: &Path) -> Result<(), Failure> {
    let pages = pages(docs)?;
    let stale: Vec<_> = pages.iter().filter(|(_, page)| !page.stale.is_empty()).collect();
    if stale.is_empty() {
        let count: usize = pages.iter().map(|(_, page)| page.sections.len()).sum();
        return output::talk(&format!("{count} generated sections are fresh"));
    }
    let message = format!("generated text is stale in {} of the docs", stale.len());
    let mut failure = Failure::new(exit::MISMATCH, message).help(format!("repair it: {REPAIR}"));
    failure.causes = stale
        .iter()
        .map(|(path, page)| format!("{}: {}", path.display(), page.stale.join(", ")))
        .collect();
    Err(failure)
}

/// Every page with fences, filled.
fn pages(docs: &Path) -> Result<Vec<(PathBuf, Page)>, Failure> {
    let read = |e: &std::io::Error, path: &Path| {
        Failure::caused(exit::USAGE, format!("failed to read {}", path.display()), e)
            .help("run it in the project's root, or name the directory with --docs")
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(docs).map_err(|e| read(&e, docs))? {
        let path = entry.map_err(|e| read(&e, docs))?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    files.sort();
    let mut pages = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).map_err(|e| read(&e, &path))?;
        let page = spec::fill(&text).map_err(|e| {
            let message = format!("{}: {e}", path.display());
            let mut names = spec::SECTIONS.to_vec();
            names.extend(spec::NAMES.iter().map(|names| names.table));
            Failure::usage(message)
                .help(format!("sections: {}, and each record by name", names.join(", ")))
        })?;
        if !page.sections.is_empty() {
            pages.push((path, page));
        }
    }
    if pages.is_empty() {
        let message = format!("no page in {} has a generated section", docs.display());
        return Err(Failure::usage(message)
            .help("run it in the project's root, or name the directory with --docs"));
    }
    Ok(pages)
}
