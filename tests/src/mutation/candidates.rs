//! What can be wrong in an expression: one operator, one constant, the condition, a bit of width.
//!
//!   a + 8'h1 ─► a - 8'h1 | a + 8'h2 | a + 8'h0 | (a + 8'h1) + 1 | (a + 8'h1) without its top bit
//!
//! Invariant: each class gives what it says (`each_class_changes_what_it_says`), and nothing inside
//! an index or a repetition is touched, since the text would not compile (`indices_are_left`).
//! Not here: changes of several places at once.

use super::Break;
use super::statements::{Role, Statement, statements};
use std::ops::Range;

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Another operator, or none.
    Operator,
    /// A constant by one more, or less, or zero.
    Constant,
    /// A condition always, never, or the other way round.
    Condition,
    /// The top bit of a value lost.
    Width,
    /// A value one too large.
    OffByOne,
    /// One bit stuck: an enable, a valid, a flag.
    Stuck,
}

impl Class {
    /// All, in the order of the report.
    pub const ALL: [Self; 6] =
        [Self::Operator, Self::Constant, Self::Condition, Self::Width, Self::OffByOne, Self::Stuck];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::Constant => "constant",
            Self::Condition => "condition",
            Self::Width => "width",
            Self::OffByOne => "off-by-one",
            Self::Stuck => "stuck",
        }
    }
}

/// A break that could be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its kind.
    pub class: Class,
    /// Module that it is in.
    pub module: String,
    /// Where and what.
    pub change: Break,
}

/// A piece of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    at: Range<usize>,
    /// Inside an index, or the count of a repetition.
    fixed: bool,
    /// Stands behind a value: an operator here has two sides.
    behind_value: bool,
}

const TWO_BYTES: [&str; 8] = ["<=", ">=", "==", "!=", "<<", ">>", "+:", "&&"];

fn tokens(text: &str) -> Vec<Token> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'' || c == '.';
    let (mut found, mut at, mut depth, mut behind_value) = (Vec::<Token>::new(), 0, 0, false);
    while at < text.len() {
        let rest = &text[at..];
        let length = match rest.find(|c| !word(c)) {
            None => rest.len(),
            Some(0) if TWO_BYTES.iter().any(|two| rest.starts_with(two)) => 2,
            Some(0) => 1,
            Some(length) => length,
        };
        let piece = &rest[..length];
        depth += usize::from(piece == "[");
        if piece != " " {
            found.push(Token { at: at..at + length, fixed: depth > 0, behind_value });
            behind_value = piece.starts_with(word) || matches!(piece, ")" | "]" | "}");
            if piece == "{" && found.len() > 1 {
                let before = found.len() - 2;
                found[before].fixed |= text[found[before].at.clone()].starts_with(word);
            }
        }
        depth -= usize::from(piece == "]" && depth > 0);
        at += length;
    }
    found
}

/// What may stand in place of an operator.
fn swaps(operator: &str, behind_value: bool) -> &'static [&'static str] {
    match (operator, behind_value) {
        ("&", true) => &["|"],
        ("|" | "^", true) => &["&"],
        ("+", true) => &["-"],
        ("-", true) => &["+"],
        ("==", true) => &["!="],
        ("!=", true) => &["=="],
        ("<", true) => &["<=", ">"],
        ("<=", true) => &["<"],
        (">", true) => &[">=", "<"],
        (">=", true) => &[">"],
        (">>", true) => &["<<"],
        ("<<", true) => &[">>"],
        ("~", false) => &[""],
        ("|", false) => &["&"],
        ("&", false) => &["|"],
        _ => &[],
    }
}

/// A sized constant: width in bits and value, if it has at most 64 bits.
fn constant(text: &str) -> Option<(u32, u64)> {
    let (width, digits) = text.split_once('\'')?;
    let width: u32 = width.parse().ok().filter(|w| (1..=64).contains(w))?;
    let radix = match digits.get(..1)? {
        "h" => 16,
        "b" => 2,
        "d" => 10,
        _ => return None,
    };
    Some((width, u64::from_str_radix(&digits[1..], radix).ok()?))
}

/// Another value of the same constant: one more, one less, zero.
fn neighbours(width: u32, value: u64) -> Vec<String> {
    let mask = u64::MAX >> (64 - width);
    let mut values = vec![value.wrapping_add(1) & mask, value.wrapping_sub(1) & mask, 0];
    values.sort_unstable();
    values.dedup();
    values.retain(|&v| v != value);
    values.into_iter().map(|v| format!("{width}'h{v:x}")).collect()
}

/// The highest bit of a value of `width` bits that can be one, as far as the text shows: a part
/// may be narrower than what it is assigned to, a constant may be small.
fn top_bit(text: &str, width: usize) -> Option<usize> {
    if let Some((_, value)) = constant(text) {
        return value.checked_ilog2().map(|top| (top as usize).min(width - 1));
    }
    let plain = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let part = text.split_once('[').filter(|(name, _)| plain(name)).map(|(_, part)| part);
    let part = part.filter(|part| !part.contains('[')).and_then(|part| part.strip_suffix(")]"));
    let bits = part.and_then(|part| part.rsplit_once("+:("));
    let narrow = bits.and_then(|(_, bits)| bits.parse::<usize>().ok());
    Some(narrow.map_or(width, |bits| bits.min(width)) - 1)
}

/// Whole expressions that could stand in place of `text`.
fn changes(text: &str, role: Role) -> Vec<(Class, String)> {
    let mut found = vec![];
    for token in tokens(text).into_iter().filter(|t| !t.fixed) {
        let piece = &text[token.at.clone()];
        let mut replace = |class, with: &str| {
            let mut changed = text.to_owned();
            changed.replace_range(token.at.clone(), with);
            found.push((class, changed));
        };
        for other in swaps(piece, token.behind_value) {
            replace(Class::Operator, other);
        }
        if let Some((width, value)) = constant(piece) {
            for other in neighbours(width, value) {
                replace(Class::Constant, &other);
            }
        }
    }
    match role {
        Role::Condition => {
            for other in ["1'b0".to_owned(), "1'b1".to_owned(), format!("!({text})")] {
                found.push((Class::Condition, other));
            }
        }
        Role::Value(1) => {
            found.push((Class::Stuck, "1'b0".into()));
            found.push((Class::Stuck, "1'b1".into()));
        }
        Role::Value(width) => {
            if let Some(top) = top_bit(text, width) {
                found.push((Class::Width, format!("({text}) & ~({width}'h1 << {top})")));
            }
            found.push((Class::OffByOne, format!("({text}) + {width}'h1")));
        }
    }
    found.retain(|(_, to)| to != text);
    found
}

/// Every break that could be made in a text, in its order.
pub fn candidates(verilog: &str) -> Vec<Candidate> {
    let lines: Vec<&str> = verilog.lines().collect();
    let one = |statement: Statement| {
        let Statement { line, module, at, role } = statement;
        let found = changes(&lines[line][at.clone()], role);
        found.into_iter().map(move |(class, to)| Candidate {
            class,
            module: module.clone(),
            change: Break { line, at: at.clone(), to },
        })
    };
    statements(verilog).into_iter().flat_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(class: Class, text: &str, role: Role) -> Vec<String> {
        let found = changes(text, role).into_iter();
        found.filter(|(c, _)| *c == class).map(|(_, to)| to).collect()
    }

    #[test]
    fn each_class_changes_what_it_says() {
        let value = Role::Value(8);
        assert_eq!(of(Class::Operator, "a & ~b", value), ["a | ~b", "a & b"]);
        assert_eq!(
            of(Class::Operator, "|a | (b < c)", value),
            ["&a | (b < c)", "|a & (b < c)", "|a | (b <= c)", "|a | (b > c)"]
        );
        assert_eq!(of(Class::Constant, "a + 8'h1", value), ["a + 8'h0", "a + 8'h2"]);
        assert_eq!(of(Class::Constant, "4'hf", value), ["4'h0", "4'he"]);
        assert_eq!(of(Class::Condition, "a", Role::Condition), ["1'b0", "1'b1", "!(a)"]);
        assert_eq!(of(Class::Width, "a", value), ["(a) & ~(8'h1 << 7)"]);
        assert_eq!(
            of(Class::Width, "a[(64'h2)+:(4)]", value),
            ["(a[(64'h2)+:(4)]) & ~(8'h1 << 3)"]
        );
        let sum = "a + b[(64'h2)+:(4)]";
        assert_eq!(of(Class::Width, sum, value), [format!("({sum}) & ~(8'h1 << 7)")]);
        assert_eq!(of(Class::Width, "4'h5", value), ["(4'h5) & ~(8'h1 << 2)"]);
        assert!(of(Class::Width, "8'h0", value).is_empty());
        assert_eq!(of(Class::OffByOne, "a", value), ["(a) + 8'h1"]);
        assert_eq!(of(Class::Stuck, "a", Role::Value(1)), ["1'b0", "1'b1"]);
        assert_eq!(of(Class::Stuck, "1'b1", Role::Value(1)), ["1'b0"]);
    }

    #[test]
    fn indices_are_left() {
        assert!(of(Class::Constant, "a[(64'h8)+:(32)]", Role::Value(32)).is_empty());
        assert!(of(Class::Constant, "{4{b}}", Role::Value(4)).is_empty());
        assert_eq!(of(Class::Operator, "a[32'h3 + b] & c", Role::Value(4)), ["a[32'h3 + b] | c"]);
    }
}
