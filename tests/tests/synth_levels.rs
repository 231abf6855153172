//! The level counter on hand-written modules of known depth.
//!
//! Needs yosys; without it each test prints that it was skipped.

use groove::synth::{BlockReport, MemoryKind, Request, SynthError, Target, synthesise};

/// Measures module `t`, or `None` without yosys.
fn measure(test: &str, verilog: &str, target: Target) -> Option<BlockReport> {
    let request =
        Request { verilog: verilog.into(), module: "t".into(), block: "t".into(), target };
    match synthesise(&request) {
        Err(error) if error.is_missing_tool() => {
            println!("skipped: {test}: {error}");
            None
        }
        other => Some(other.unwrap()),
    }
}

/// Asserts the levels on every family: (ecp5, both of AMD).
fn expect(test: &str, verilog: &str, levels: (u32, u32)) {
    for (target, levels) in Target::ALL.into_iter().zip([levels.0, levels.1, levels.1]) {
        let Some(report) = measure(test, verilog, target) else { return };
        assert_eq!(
            report.longest.levels,
            levels,
            "{test} on {}: {:#?}",
            target.name(),
            report.longest.path
        );
    }
}

/// A module with registers `a`, `b`, `c` in front and the given body behind.
fn registered(body: &str) -> String {
    format!(
        "module t(input clk, input [31:0] ai, bi, ci, output reg [31:0] q);
         reg [31:0] a, b, c;
         always @(posedge clk) begin a <= ai; b <= bi; c <= ci; end
         {body}
         endmodule"
    )
}

#[test]
fn a_chain_of_luts_counts_each() {
    for n in [1_u32, 7, 23] {
        let mut ecp5 = String::new();
        let mut amd = String::new();
        for i in 0..n {
            ecp5 += &format!(
                "LUT4 #(.INIT(16'h6996)) l{i}(.A(w[{i}]), .B(a[1]), .C(b[1]), .D(c[1]), .Z(w[{}]));",
                i + 1
            );
            amd += &format!("LUT2 #(.INIT(4'h6)) l{i}(.I0(w[{i}]), .I1(a[1]), .O(w[{}]));", i + 1);
        }
        for (target, luts) in [(Target::Ecp5, &ecp5), (Target::Xc7, &amd), (Target::Xcup, &amd)] {
            let body = format!(
                "wire [{n}:0] w; assign w[0] = a[0]; {luts} always @(posedge clk) q <= w[{n}];"
            );
            let test = "a_chain_of_luts_counts_each";
            let Some(report) = measure(test, &registered(&body), target) else { return };
            assert_eq!(report.longest.levels, n, "{}: {:#?}", target.name(), report.longest.path);
            assert_eq!(report.longest.path.len() as u32, n + 2, "start, each LUT, end");
        }
    }
}

/// On xc7 and xcup yosys feeds each carry bit through a LUT of its own, which counts.
#[test]
fn a_32_bit_adder_is_one_level() {
    let body = "always @(posedge clk) q <= a + b;";
    expect("a_32_bit_adder_is_one_level", &registered(body), (1, 2));
}

#[test]
fn an_adder_and_a_lut_are_two_levels() {
    let body = "wire [31:0] s = a + b; always @(posedge clk) q <= s ^ c;";
    expect("an_adder_and_a_lut_are_two_levels", &registered(body), (2, 3));
}

/// Sum, LUT, sum: the path leaves the first chain and pays again for the second.
#[test]
fn chains_in_a_row_count_each() {
    let body = "wire [31:0] s = a + b; wire [31:0] u = (s & c) + a; always @(posedge clk) q <= u;";
    expect("chains_in_a_row_count_each", &registered(body), (3, 4));
}

#[test]
fn registers_cut_a_path() {
    let body = "reg [31:0] s, u;
                always @(posedge clk) begin s <= a + b; u <= s + c; q <= u + a; end";
    expect("registers_cut_a_path", &registered(body), (1, 2));
}

#[test]
fn block_ram_starts_and_ends_a_path() {
    let verilog = "module t(input clk, input we, input [9:0] wa, ra, rb, input [35:0] wd,
                            output reg [35:0] q);
        reg [35:0] m [0:1023]; reg [35:0] n [0:1023]; reg [35:0] d;
        always @(posedge clk) begin
            // Never both at once: yosys then needs no logic for a read of the word being written.
            if (we) m[wa] <= wd; else d <= m[ra];
            if (we) n[ra] <= d; else q <= n[rb];
        end
        endmodule";
    for target in Target::ALL {
        let Some(report) = measure("block_ram_starts_and_ends_a_path", verilog, target) else {
            return;
        };
        // From RAM to RAM there is nothing; the one level is the inverter of `we`.
        assert_eq!(report.longest.levels, 1, "{}: {:#?}", target.name(), report.longest.path);
        assert_eq!(report.longest.path[0], "input we");
        assert_eq!(report.memories.len(), 2);
        assert!(report.memories.iter().all(|m| m.kind == MemoryKind::Block));
        assert!(report.memories.iter().all(|m| (m.words, m.width) == (1024, 36)));
        assert!(report.ram_blocks >= 2);
    }
}

#[test]
fn distributed_ram_counts_from_its_address() {
    let verilog = "module t(input clk, input we, input [3:0] wa, ra, input [7:0] wd,
                            output reg [7:0] q);
        reg [7:0] m [0:15]; reg [3:0] r; reg w; reg [3:0] a; reg [7:0] d;
        always @(posedge clk) begin
            r <= ra; w <= we; a <= wa; d <= wd;
            if (w) m[a] <= d;
            q <= m[r];
        end
        endmodule";
    for target in Target::ALL {
        let test = "distributed_ram_counts_from_its_address";
        let Some(report) = measure(test, verilog, target) else { return };
        assert_eq!(report.longest.levels, 1, "{}: {:#?}", target.name(), report.longest.path);
        assert_eq!(report.memories[0].kind, MemoryKind::Distributed);
    }
}

#[test]
fn a_table_that_is_not_ram_is_told() {
    // Three write ports: no RAM has them.
    let verilog = "module t(input clk, input [3:0] a, b, c, input [31:0] d, output reg [31:0] q);
        reg [31:0] m [0:15];
        always @(posedge clk) begin
            m[a] <= d;
            if (d[0]) m[b] <= ~d;
            if (d[1]) m[c] <= 5;
            q <= m[a];
        end
        endmodule";
    let Some(report) = measure("a_table_that_is_not_ram_is_told", verilog, Target::Ecp5) else {
        return;
    };
    let tables: Vec<_> = report.register_tables(256).collect();
    assert_eq!(tables.len(), 1);
    assert_eq!((tables[0].name.as_str(), tables[0].words, tables[0].width), ("m", 16, 32));
}

#[test]
fn inputs_start_and_outputs_end_a_path() {
    let verilog = "module t(input [3:0] a, output q); assign q = ^a; endmodule";
    expect("inputs_start_and_outputs_end_a_path", verilog, (1, 1));
}

#[test]
fn broken_verilog_is_an_error_with_yosys_own_words() {
    let request = Request {
        verilog: "module t(input a, output b); assign b = a +; endmodule".into(),
        module: "t".into(),
        block: "t".into(),
        target: Target::Ecp5,
    };
    match synthesise(&request) {
        Err(error) if error.is_missing_tool() => println!("skipped: no yosys"),
        Err(SynthError::Tool { source, .. }) => {
            assert!(source.to_string().contains("syntax error"), "{source}");
        }
        other => panic!("{other:?}"),
    }
}
