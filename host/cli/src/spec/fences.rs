//! Fenced sections of a Markdown page: `<!-- BEGIN GROOVE name -->` to `<!-- END GROOVE -->`.
//!
//! Invariants: text outside fences is never touched (`only_fenced_text_changes`); filling a filled
//! page changes nothing (`filling_twice_changes_nothing`).

use super::section;

const BEGIN: &str = "<!-- BEGIN GROOVE ";
const BEGIN_END: &str = " -->";
const END: &str = "<!-- END GROOVE -->";

/// What is wrong with the fences of a page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FenceError {
    /// A fence names what is not generated.
    #[error("line {line}: no generated section is called '{name}'")]
    Unknown {
        /// Line, from 1.
        line: usize,
        /// Name in the fence.
        name: String,
    },
    /// A fence is not closed.
    #[error("line {line}: the fence of '{name}' is not closed by `{END}`")]
    Open {
        /// Line, from 1.
        line: usize,
        /// Name in the fence.
        name: String,
    },
    /// An end without a beginning.
    #[error("line {line}: `{END}` closes nothing")]
    Stray {
        /// Line, from 1.
        line: usize,
    },
}

/// A page after filling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its new text.
    pub text: String,
    /// Names of its sections, in order.
    pub sections: Vec<String>,
    /// Names of those whose text was not the generated one.
    pub stale: Vec<String>,
}

/// Fills every fence of a page.
pub fn fill(page: &str) -> Result<Page, FenceError> {
    let mut filled = Page { text: String::new(), sections: Vec::new(), stale: Vec::new() };
    let mut lines = page.split_inclusive('\n').enumerate();
    while let Some((index, text)) = lines.next() {
        let line = index + 1;
        filled.text += text;
        if text.trim() == END {
            return Err(FenceError::Stray { line });
        }
        let Some(name) = begin(text) else { continue };
        let generated =
            section(name).ok_or_else(|| FenceError::Unknown { line, name: name.to_owned() })?;
        let mut old = String::new();
        let open = || FenceError::Open { line, name: name.to_owned() };
        let end = loop {
            let (_, text) = lines.next().ok_or_else(open)?;
            if text.trim() == END {
                break text;
            }
            if begin(text).is_some() {
                return Err(open());
            }
            old += text;
        };
        // An empty line on both sides: a comment directly before a table swallows it in some
        // renderers.
        let new = format!("\n{generated}\n");
        filled.sections.push(name.to_owned());
        if old != new {
            filled.stale.push(name.to_owned());
        }
        filled.text += &new;
        filled.text += end;
    }
    Ok(filled)
}

fn begin(line: &str) -> Option<&str> {
    line.trim().strip_prefix(BEGIN)?.strip_suffix(BEGIN_END)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str =
        "# Title\n\n<!-- BEGIN GROOVE exit-codes -->\nold\n<!-- END GROOVE -->\nafter";

    #[test]
    fn only_fenced_text_changes() {
        let page = fill(PAGE).unwrap();
        assert!(page.text.starts_with("# Title\n\n<!-- BEGIN GROOVE exit-codes -->\n\n| Code"));
        assert!(page.text.ends_with("|\n\n<!-- END GROOVE -->\nafter"));
        assert_eq!((page.sections, page.stale.len()), (vec!["exit-codes".to_owned()], 1));
    }

    #[test]
    fn filling_twice_changes_nothing() {
        let once = fill(PAGE).unwrap();
        let twice = fill(&once.text).unwrap();
        assert_eq!(twice.text, once.text);
        assert!(twice.stale.is_empty());
    }

    #[test]
    fn wrong_fences_are_refused() {
        let unknown = fill("\n<!-- BEGIN GROOVE nothing -->\n<!-- END GROOVE -->\n");
        assert_eq!(unknown, Err(FenceError::Unknown { line: 2, name: "nothing".into() }));
        let open = Err(FenceError::Open { line: 1, name: "stages".into() });
        assert_eq!(fill("<!-- BEGIN GROOVE stages -->\ntext\n"), open);
        let nested = "<!-- BEGIN GROOVE stages -->\n<!-- BEGIN GROOVE stages -->\n";
        assert_eq!(fill(nested), open);
        assert_eq!(fill("<!-- END GROOVE -->\n"), Err(FenceError::Stray { line: 1 }));
    }
}
