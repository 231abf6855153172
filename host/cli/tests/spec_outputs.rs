//! What is generated from the table: docs are fresh, JSON says the same, the C header compiles.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use support::groove;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn docs_are_fresh() {
    let run = groove(root(), &["spec", "check"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn write_repairs_what_check_refuses() {
    let dir = tempfile::tempdir().unwrap();
    let page = dir.path().join("page.md");
    fs::write(&page, "a\n<!-- BEGIN GROOVE Verdict -->\n<!-- END GROOVE -->\nb\n").unwrap();
    let run = |action| groove(dir.path(), &["spec", action, "--docs", "."]).code;
    assert_eq!((run("check"), run("write"), run("check")), (4, 0, 0));
    let text = fs::read_to_string(&page).unwrap();
    assert!(text.contains("| 3    | `absent` | UDP without a checksum (field 0).  "), "{text}");
}

#[test]
fn json_names_every_register() {
    let run = groove(root(), &["spec", "show", "--json"]);
    let table: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(table["spec_id"], groove_spec::SPEC_ID);
    let text = run.stdout;
    let all = groove_spec::stages::all_registers().chain(groove_spec::nic::REGISTERS);
    for register in all {
        assert!(text.contains(&format!("\"{}\"", register.name)), "{}", register.name);
    }
}

#[test]
fn the_c_header_compiles() {
    if !support::installed("g++") {
        println!("skipped: the_c_header_compiles: no g++");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("groove.h"), groove::spec::c_header(512, 32)).unwrap();
    // Reads a field that crosses a word, so that the helper is checked too.
    let bit = groove_spec::stages::parse::FRAME_META.field("hash").lsb;
    let program = format!(
        "#include \"groove.h\"\nint main(void) {{\n\tuint32_t words[12] = {{0}};\n\
         \twords[0] = 0xdeadbeefu << {bit};\n\twords[1] = 0xdeadbeefu >> (32 - {bit});\n\
         \treturn groove_field(words, GROOVE_FRAME_META_HASH_LSB, GROOVE_FRAME_META_HASH_WIDTH)\n\
         \t\t== 0xdeadbeefu ? GROOVE_END_REASON_NONE : 1;\n}}\n"
    );
    for (file, standard) in [("t.c", "-std=c11"), ("t.cpp", "-std=c++17")] {
        fs::write(dir.path().join(file), &program).unwrap();
        let language = if file == "t.c" { "c" } else { "c++" };
        let built = Command::new("g++")
            .args(["-x", language, standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
            .args([file, "-o", "t"])
            .current_dir(dir.path())
            .output()
            .unwrap();
        let errors = String::from_utf8(built.stderr).unwrap();
        assert!(built.status.success(), "{file}: {errors}");
        assert!(Command::new(dir.path().join("t")).status().unwrap().success(), "{file}");
    }
}
