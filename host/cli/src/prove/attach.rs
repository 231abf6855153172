//! Puts properties into emitted modules, and breaks them.
//!
//!   Verilog, module, text ──► Verilog with the text before the module's `endmodule`
//!   Verilog, mutant ──► Verilog with one place changed
//!
//! Invariants: a pattern that matches no module, or a text that is not there exactly once, is an
//! error (`what_does_not_fit_is_refused`). Not here: what the text means.

use super::{Attachment, Mutant, Proof};

/// Byte ranges of the modules: name, then from the name to `endmodule`.
fn modules(verilog: &str) -> Vec<(&str, std::ops::Range<usize>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = verilog[at..].find("module ") {
        let start = at + start + "module ".len();
        let Some(length) = verilog[start..].find("endmodule") else { break };
        let name = verilog[start..start + length].split(['(', ';']).next().unwrap_or_default();
        found.push((name.trim(), start..start + length));
        at = start + length + "endmodule".len();
    }
    found
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}

/// The Verilog with the proof's narrow widths; what it cuts must be there.
pub(super) fn narrow(verilog: &str, proof: &Proof) -> Result<String, String> {
    let modules = modules(verilog);
    for cut in proof.cut {
        if !modules.iter().any(|(name, _)| name == cut) {
            return Err(format!("no module {cut} in the emission"));
        }
    }
    let mut out = verilog.to_string();
    for (from, to) in proof.narrow {
        if !out.contains(from) {
            return Err(format!("no `{from}` in the emission"));
        }
        out = out.replace(from, to);
    }
    Ok(out)
}

/// The Verilog with each text at the end of every module that its pattern matches.
pub(super) fn attach(verilog: &str, properties: &[Attachment]) -> Result<String, String> {
    let modules = modules(verilog);
    for Attachment { module, .. } in properties {
        if !modules.iter().any(|(name, _)| matches(module, name)) {
            return Err(format!("no module {module} in the emission"));
        }
    }
    let mut out = verilog.to_string();
    for (name, range) in modules.iter().rev() {
        for attachment in properties.iter().filter(|a| matches(a.module, name)) {
            let words = attachment.words.iter();
            let text = words.fold(attachment.text.to_string(), |t, (from, to)| t.replace(from, to));
            out.insert_str(range.end, &text);
        }
    }
    Ok(out)
}

/// The Verilog with the mutant in it.
pub(super) fn mutate(verilog: &str, mutant: &Mutant) -> Result<String, String> {
    let inside = |(name, range): &(&str, std::ops::Range<usize>)| {
        let from = if matches(mutant.module, name) { range.start } else { range.end };
        verilog[from..range.end]
            .match_indices(mutant.from)
            .map(|(at, _)| from + at)
            .collect::<Vec<_>>()
    };
    let places: Vec<usize> = modules(verilog).iter().flat_map(inside).collect();
    let [at] = places[..] else {
        let Mutant { name, module, from, .. } = mutant;
        return Err(format!("mutant {name}: `{from}` is {} times in {module}", places.len()));
    };
    Ok(format!("{}{}{}", &verilog[..at], mutant.to, &verilog[at + mutant.from.len()..]))
}

/// Whether a label is that of a property of the module itself, not of a block in it.
pub(super) fn is_own(verilog: &str, module: &str, label: &str) -> bool {
    let Some((instance, _)) = label.split_once('.') else { return true };
    let text = modules(verilog).into_iter().find(|(name, _)| *name == module);
    !text.is_some_and(|(_, range)| verilog[range].contains(&format!(" {instance}(\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "module a_x(q);\n  q = 1;\nendmodule\n\nmodule a(q);\n  a_x inner(\n  );\n  \
                        q = 1;\nendmodule\n";

    fn mutant(module: &'static str, from: &'static str) -> Mutant {
        Mutant { name: "m", module, from, to: "0", kills: "p" }
    }

    #[test]
    fn text_goes_to_the_end_of_its_module() {
        let at = |module, text| Attachment { module, text, words: &[("WORD", "P")] };
        let out = attach(TEXT, &[at("a", "WORD\n"), at("a_*", "Q\n")]).unwrap();
        assert_eq!(out.matches("P\nendmodule").count(), 1);
        assert!(out.starts_with("module a_x(q);\n  q = 1;\nQ\nendmodule"), "{out}");
        let broken = mutate(TEXT, &mutant("a", "1")).unwrap();
        assert!(broken.ends_with("q = 0;\nendmodule\n") && broken.contains("q = 1;"), "{broken}");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let nowhere = Attachment { module: "b", text: "", words: &[] };
        let error = attach(TEXT, &[nowhere]).unwrap_err();
        assert_eq!(error, "no module b in the emission");
        let fifo = super::super::PROOFS[0];
        let cut = Proof { cut: &["b"], ..*fifo };
        assert_eq!(narrow(TEXT, &cut).unwrap_err(), "no module b in the emission");
        let thin = Proof { narrow: &[("[7:0]", "")], ..*fifo };
        assert_eq!(narrow(TEXT, &thin).unwrap_err(), "no `[7:0]` in the emission");
        assert!(mutate(TEXT, &mutant("a", "q")).unwrap_err().contains("2 times"));
        assert!(mutate(TEXT, &mutant("b", "q")).unwrap_err().contains("0 times"));
    }

    #[test]
    fn properties_of_inner_blocks_are_not_ours() {
        assert!(is_own(TEXT, "a", "p"));
        assert!(is_own(TEXT, "a", "order.p"));
        assert!(!is_own(TEXT, "a", "inner.order.p"));
    }
}
