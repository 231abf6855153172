//! Source rules for `#[hdl_gen]` kernels: refuses what RustHDL 0.46 accepts but translates into
//! Verilog with another meaning, and names that Verilog does not take.
//!
//! RustHDL translates by syntax alone and knows no types, so these rules go by syntax as well.

use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// Words of SystemVerilog that read well as the name of a signal. RustHDL refuses six others.
const KEYWORDS: [&str; 61] = [
    "alias",
    "always",
    "and",
    "assert",
    "assign",
    "assume",
    "before",
    "begin",
    "bind",
    "bins",
    "bit",
    "break",
    "buf",
    "byte",
    "case",
    "cell",
    "chandle",
    "class",
    "clocking",
    "constraint",
    "context",
    "continue",
    "cover",
    "cross",
    "default",
    "design",
    "dist",
    "do",
    "end",
    "event",
    "expect",
    "export",
    "final",
    "first_match",
    "force",
    "fork",
    "forever",
    "global",
    "initial",
    "inout",
    "input",
    "inside",
    "instance",
    "interface",
    "join",
    "library",
    "local",
    "new",
    "output",
    "packed",
    "priority",
    "property",
    "rand",
    "release",
    "repeat",
    "sequence",
    "table",
    "small",
    "tagged",
    "time",
    "within",
];

#[derive(Default)]
struct Rules {
    file: String,
    fields: Vec<String>,
    bad: Vec<String>,
}

impl Rules {
    fn flag(&mut self, what: &str) {
        self.bad.push(format!("{}: {what}", self.file));
    }
}

/// A signal or a slice of one (`self.a.b.val()`, `.get_bits::<8>(i)`), a path or a literal:
/// nothing the Verilog could evaluate at another width.
fn plain(e: &syn::Expr) -> bool {
    match e {
        syn::Expr::MethodCall(m) => {
            ["val", "get_bits", "get_bit"].contains(&m.method.to_string().as_str())
                && plain(&m.receiver)
        }
        syn::Expr::Field(f) => plain(&f.base),
        syn::Expr::Index(i) => plain(&i.expr),
        syn::Expr::Path(_) | syn::Expr::Lit(_) => true,
        _ => false,
    }
}

/// Built from signals alone, so that Rust and Verilog agree on its width. Literals, also as
/// `bits(..)`, are 32 bits wide in the Verilog.
fn sized(e: &syn::Expr) -> bool {
    match e {
        syn::Expr::MethodCall(_) => plain(e),
        syn::Expr::Paren(p) => sized(&p.expr),
        syn::Expr::Unary(u) => sized(&u.expr),
        // A shift amount does not widen the shifted value.
        syn::Expr::Binary(b) if matches!(b.op, syn::BinOp::Shl(_) | syn::BinOp::Shr(_)) => {
            sized(&b.left)
        }
        syn::Expr::Binary(b) => sized(&b.left) && sized(&b.right),
        _ => false,
    }
}

fn strip_parens(e: &syn::Expr) -> &syn::Expr {
    if let syn::Expr::Paren(p) = e { strip_parens(&p.expr) } else { e }
}

/// Arithmetic whose result depends on the width at which it is evaluated.
fn width_sensitive(e: &syn::Expr) -> bool {
    use syn::BinOp::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};
    match strip_parens(e) {
        syn::Expr::Unary(_) => true,
        syn::Expr::Binary(b) => match b.op {
            Add(_) | Sub(_) | Shl(_) => true,
            BitAnd(_) | BitOr(_) | BitXor(_) | Shr(_) => {
                width_sensitive(&b.left) || width_sensitive(&b.right)
            }
            _ => false,
        },
        _ => false,
    }
}

impl<'a> Visit<'a> for Rules {
    fn visit_arm(&mut self, a: &'a syn::Arm) {
        if a.guard.is_some() {
            self.flag("a match guard is dropped in the Verilog");
        }
        visit::visit_arm(self, a);
    }

    fn visit_expr_for_loop(&mut self, f: &'a syn::ExprForLoop) {
        if let syn::Expr::Range(r) = strip_parens(&f.expr)
            && matches!(r.limits, syn::RangeLimits::Closed(_))
        {
            self.flag("`a..=b` is emitted as `a..b`");
        }
        if let syn::Pat::Ident(p) = &*f.pat
            && self.fields.contains(&p.ident.to_string())
        {
            self.flag("loop variable named like a field: the index replaces the field");
        }
        visit::visit_expr_for_loop(self, f);
    }

    fn visit_expr_call(&mut self, c: &'a syn::ExprCall) {
        if let syn::Expr::Path(p) = &*c.func {
            let cast = p.path.segments.last().is_some_and(|s| s.ident == "bit_cast");
            if cast && !c.args.iter().all(plain) {
                self.flag("bit_cast of an expression keeps carries; assign to a Local first");
            }
        }
        visit::visit_expr_call(self, c);
    }

    fn visit_expr_binary(&mut self, b: &'a syn::ExprBinary) {
        use syn::BinOp::*;
        let comparison = matches!(b.op, Eq(_) | Ne(_) | Lt(_) | Le(_) | Gt(_) | Ge(_));
        let sides = [&*b.left, &*b.right];
        for side in sides {
            if let syn::Expr::Binary(i) = side
                && comparison
                && matches!(i.op, BitAnd(_) | BitOr(_) | BitXor(_))
            {
                self.flag("parenthesise bit operations beside a comparison (precedence)");
            }
            if matches!(strip_parens(side), syn::Expr::MethodCall(m) if m.method == "to_bits") {
                self.flag("`.to_bits()` must be the whole right-hand side");
            }
        }
        if comparison && sides.iter().any(|s| width_sensitive(s)) && !sides.iter().all(|s| sized(s))
        {
            self.flag("arithmetic compared with a literal is evaluated at 32 bits; use a Constant");
        }
        if matches!(b.op, Shr(_)) && width_sensitive(&b.left) {
            self.flag(
                "a literal anywhere widens a shifted sum to 32 bits; assign to a Local first",
            );
        }
        visit::visit_expr_binary(self, b);
    }

    fn visit_expr_method_call(&mut self, m: &'a syn::ExprMethodCall) {
        match m.method.to_string().as_str() {
            "get_bits" | "get_bit" => {
                if !matches!(&*m.receiver, syn::Expr::MethodCall(r) if r.method == "val") {
                    self.flag("slice of an expression is invalid Verilog; assign to a Local first");
                }
            }
            "to_bits" if !plain(&m.receiver) => {
                self.flag("`.to_bits()` of an expression keeps carries; assign to a Local first");
            }
            "any" | "all" | "xor" if width_sensitive(&m.receiver) && !sized(&m.receiver) => {
                self.flag("reduction of arithmetic with a literal is evaluated at 32 bits");
            }
            _ => {}
        }
        visit::visit_expr_method_call(self, m);
    }
}

/// A block or an interface. (Fields of a `LogicStruct` become slices and may be called anything.)
fn is_hardware(s: &syn::ItemStruct) -> bool {
    s.attrs.iter().filter(|a| a.path().is_ident("derive")).any(|a| {
        let syn::Meta::List(list) = &a.meta else { return false };
        let derives = list.tokens.to_string();
        derives.contains("LogicBlock") || derives.contains("LogicInterface")
    })
}

/// An array: its elements get a number behind the name.
fn is_array(ty: &syn::Type) -> bool {
    match ty {
        syn::Type::Array(_) => true,
        syn::Type::Path(p) => p.path.segments.last().is_some_and(|s| s.ident == "Vec"),
        _ => false,
    }
}

fn check(file: &str, src: &str) -> Vec<String> {
    let ast = syn::parse_file(src).unwrap();
    let mut rules = Rules { file: file.into(), ..Default::default() };
    for item in &ast.items {
        let syn::Item::Struct(s) = item else { continue };
        for field in &s.fields {
            let Some(name) = field.ident.as_ref().map(ToString::to_string) else { continue };
            if is_hardware(s) && !is_array(&field.ty) && KEYWORDS.contains(&name.as_str()) {
                rules.flag(&format!("`{name}` is a word of Verilog"));
            }
            rules.fields.push(name);
        }
    }
    for item in &ast.items {
        let syn::Item::Impl(i) = item else { continue };
        for member in &i.items {
            if let syn::ImplItem::Fn(f) = member
                && f.attrs.iter().any(|a| a.path().is_ident("hdl_gen"))
            {
                rules.visit_impl_item_fn(f);
            }
        }
    }
    rules.bad
}

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|x| x == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn kernels_keep_the_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut bad = vec![];
    let mut kernels = 0;
    for path in files {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        kernels += text.matches("#[hdl_gen]").count();
        bad.extend(check(&name, &text));
    }
    assert!(kernels > 20, "the sources were found");
    assert!(bad.is_empty(), "{bad:#?}");
}

fn check_body(body: &str) -> Vec<String> {
    check(
        "t",
        &format!(
            "struct X {{ lane: u8 }}
             impl Logic for X {{ #[hdl_gen] fn update(&mut self) {{ {body} }} }}"
        ),
    )
}

#[test]
fn rules_catch_the_known_mistranslations() {
    for body in [
        "match self.s.val().index() { 0 if self.en.val() => { } _ => {} }",
        "for lane in 0..3 { self.a[lane].next = self.lane.val(); }",
        "for i in 0..=3 { self.a[i].next = self.b.val(); }",
        "self.o.next = bit_cast::<33, 32>(self.a.val() + self.b.val());",
        "self.o.next = bit_cast::<32, 8>(!self.a.val());",
        "self.o.next = (self.a.val() + self.b.val()).to_bits();",
        "self.o.next = self.c.val() + self.a.val().to_bits();",
        "self.o.next = self.a.val() & self.b.val() == 0;",
        "self.o.next = (self.a.val() + 1) == 0;",
        "self.o.next = (self.a.val() + bits::<8>(1)) == self.b.val();",
        "self.o.next = (self.a.val() << self.k.val()) == 0;",
        "self.o.next = (!self.a.val()) == 0;",
        "self.o.next = (self.a.val() + 1).any();",
        "self.o.next = (self.a.val() + 1) >> 1;",
        "self.o.next = (self.a.val() ^ self.b.val()).get_bits::<8>(0);",
    ] {
        assert_eq!(check_body(body).len(), 1, "{body}: {:?}", check_body(body));
    }
}

#[test]
fn rules_accept_the_replacements() {
    for body in [
        "for i in 0..4 { self.a[i].next = self.lane.val(); }",
        "self.t.next = self.a.val() + self.b.val(); self.o.next = bit_cast::<33, 32>(self.t.val());",
        "self.o.next = (self.a.val() & self.b.val()) == self.zero.val();",
        "self.o.next = (self.a.val() + self.one.val()) == self.zero.val();",
        "self.o.next = (self.a.val() << 1) == self.zero.val();",
        "self.o.next = self.a.val() == 0;",
        "self.o.next = self.a.val() + (self.b.val() >> 1);",
        "self.o.next = self.a.val().get_bits::<8>(8).to_bits();",
    ] {
        assert!(check_body(body).is_empty(), "{body}: {:?}", check_body(body));
    }
}

#[test]
fn rules_catch_words_of_verilog() {
    for (item, bad) in [
        ("#[derive(LogicBlock)] struct X { join: u8 }", 1),
        ("#[derive(LogicInterface, Default)] struct X { before: u8, inside: u8 }", 2),
        ("#[derive(LogicStruct)] struct X { end: u8 }", 0),
        ("#[derive(LogicBlock)] struct X { joined: u8, cell: Vec<u8>, bit: [u8; 2] }", 0),
    ] {
        assert_eq!(check("t", item).len(), bad, "{item}");
    }
}
