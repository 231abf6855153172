//! Writes the C++ between Verilator's class and the shared object's interface.
//!
//! Invariants: ports are read from the header that Verilator wrote, so widths and storage are its
//! own (`ports_are_read_from_the_header`).

use std::fmt::Write;

use crate::Error;

/// A port of the top module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderPort {
    /// Name in Verilog.
    pub name: String,
    /// Member of the generated class.
    pub member: String,
    pub width: usize,
    pub input: bool,
}

/// Ports of the generated class, in its order.
pub(crate) fn ports(header: &str) -> Result<Vec<HeaderPort>, Error> {
    header
        .lines()
        .map(str::trim)
        .filter(|l| l.starts_with("VL_IN") || l.starts_with("VL_OUT"))
        .map(|line| port(line).ok_or_else(|| Error::Generated(line.to_owned())))
        .collect()
}

/// `VL_INW(&s_axis_tdata,511,0,16);`
fn port(line: &str) -> Option<HeaderPort> {
    let (kind, rest) = line.split_once('(')?;
    let args: Vec<&str> = rest.strip_suffix(");")?.split(',').map(str::trim).collect();
    let [member, msb, lsb, ..] = args[..] else { return None };
    if kind.starts_with("VL_INOUT") {
        return None;
    }
    let (msb, lsb): (usize, usize) = (msb.parse().ok()?, lsb.parse().ok()?);
    let member = member.trim_start_matches('&');
    Some(HeaderPort {
        // Verilator writes two underscores in a row so.
        name: member.replace("___05F", "__"),
        member: member.to_owned(),
        width: msb.checked_sub(lsb)? + 1,
        input: kind.starts_with("VL_IN"),
    })
}

/// The one port that looks like a clock; `None` in a combinational module.
pub(crate) fn clock<'a>(
    top: &str,
    ports: &'a [HeaderPort],
) -> Result<Option<&'a HeaderPort>, Error> {
    let is_clock = |p: &&HeaderPort| {
        p.input
            && p.width == 1
            && ["clk", "clock"].iter().any(|n| {
                p.name.strip_suffix(n).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
            })
    };
    let clocks: Vec<_> = ports.iter().filter(is_clock).collect();
    match clocks[..] {
        [] => Ok(None),
        [clock] => Ok(Some(clock)),
        _ => Err(Error::Clocks {
            top: top.to_owned(),
            clocks: clocks.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", "),
        }),
    }
}

/// Text of the shim for these ports.
pub(crate) fn source(ports: &[HeaderPort], clock: Option<&HeaderPort>, trace: bool) -> String {
    let mut table = String::new();
    let mut pointers = String::new();
    for (index, HeaderPort { name, member, width, input }) in ports.iter().enumerate() {
        let input = u8::from(*input);
        let _ =
            writeln!(table, "  {{\"{name}\", {width}, sizeof(((Vdut*)0)->{member}), {input}}},");
        let _ = writeln!(pointers, "    case {index}: return (void*)&d->top->{member};");
    }
    let member = clock.map(|c| format!("d->top->{}", c.member));
    let drive = |level: u8| member.as_ref().map_or(String::new(), |m| format!("{m} = {level};"));
    SHIM.replace("@TRACE@", if trace { "1" } else { "0" })
        .replace("@TABLE@", &table)
        .replace("@COUNT@", &ports.len().to_string())
        .replace("@POINTERS@", &pointers)
        .replace("@LOW@", &drive(0))
        .replace("@HIGH@", &drive(1))
}

/// Exceptions stay inside: Verilator's run time would end the process otherwise.
const SHIM: &str = r#"#include "Vdut.h"
#include "verilated.h"
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#if @TRACE@
#include "verilated_fst_c.h"
#endif

void vl_fatal(const char* file, int line, const char* hier, const char* msg) {
  throw std::runtime_error(msg ? msg : "fatal error");
}

namespace {
struct PortRow { const char* name; uint32_t width; uint32_t bytes; uint32_t input; };
const PortRow ROWS[] = {
@TABLE@  {nullptr, 0, 0, 0}
};
struct Dut {
  VerilatedContext context;
  Vdut* top = nullptr;
  uint64_t time = 0;
  std::string message;
#if @TRACE@
  VerilatedFstC* trace = nullptr;
#endif
};
template <class F> int guard(Dut* d, F f) {
  try { f(); return 0; }
  catch (const std::exception& e) { d->message = e.what(); }
  catch (...) { d->message = "unknown exception"; }
  return 1;
}
inline void dump(Dut* d) {
#if @TRACE@
  if (d->trace) d->trace->dump(d->time);
#endif
  ++d->time;
}
}

#define API extern "C" __attribute__((visibility("default")))

API uint32_t groove_port_count() { return @COUNT@; }
API const PortRow* groove_ports() { return ROWS; }
API void groove_free(Dut* d) {
  if (!d) return;
  guard(d, [&] {
#if @TRACE@
    if (d->trace) { d->trace->close(); delete d->trace; d->trace = nullptr; }
#endif
    if (d->top) { d->top->final(); delete d->top; d->top = nullptr; }
  });
  Verilated::threadContextp(Verilated::defaultContextp());
  delete d;
}
API Dut* groove_new() {
  Dut* d = nullptr;
  try {
    d = new Dut;
    Verilated::threadContextp(&d->context);
    d->context.traceEverOn(@TRACE@);
    d->top = new Vdut{&d->context, "TOP"};
    return d;
  } catch (...) { groove_free(d); return nullptr; }
}
API void* groove_port(Dut* d, uint32_t index) {
  switch (index) {
@POINTERS@    default: return nullptr;
  }
}
API const char* groove_message(Dut* d) { return d->message.c_str(); }
API int groove_settle(Dut* d) {
  return guard(d, [&] { @LOW@ d->top->eval(); dump(d); });
}
API int groove_edge(Dut* d) {
  return guard(d, [&] { @HIGH@ d->top->eval(); dump(d); });
}
API int groove_clock(Dut* d) {
  return guard(d, [&] { @LOW@ d->top->eval(); dump(d); @HIGH@ d->top->eval(); dump(d); });
}
API int groove_trace_start(Dut* d, const char* path) {
#if @TRACE@
  return guard(d, [&] {
    if (d->trace) { d->trace->close(); delete d->trace; d->trace = nullptr; }
    VerilatedFstC* trace = new VerilatedFstC;
    d->top->trace(trace, 99);
    trace->open(path);
    if (!trace->isOpen()) { delete trace; throw std::runtime_error("not writable"); }
    d->trace = trace;
  });
#else
  return 2;
#endif
}
API void groove_trace_stop(Dut* d) {
#if @TRACE@
  guard(d, [&] {
    if (d->trace) { d->trace->close(); delete d->trace; d->trace = nullptr; }
  });
#endif
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "    // PORTS\n    VL_IN8(&sys_clk,0,0);\n    VL_OUT8(&a___05Fb,0,0);\n    \
        VL_INW(&s_axis_tdata,511,0,16);\n    VL_OUT64(&count,63,0);\n    VL_OUT(&word,31,0);\n";

    #[test]
    fn ports_are_read_from_the_header() {
        let ports = ports(HEADER).unwrap();
        let rows: Vec<_> = ports.iter().map(|p| (p.name.as_str(), p.width, p.input)).collect();
        let expected = [
            ("sys_clk", 1, true),
            ("a__b", 1, false),
            ("s_axis_tdata", 512, true),
            ("count", 64, false),
            ("word", 32, false),
        ];
        assert_eq!(rows, expected);
        assert_eq!(clock("t", &ports).unwrap().unwrap().name, "sys_clk");
        assert!(source(&ports, None, false).contains("sizeof(((Vdut*)0)->a___05Fb)"));
    }

    #[test]
    fn unknown_port_declarations_are_refused() {
        assert!(ports("VL_INOUT8(&bus,7,0);").is_err());
        assert!(ports("VL_IN8(&clk,0);").is_err());
    }

    #[test]
    fn two_clocks_are_refused() {
        let two = ports("VL_IN8(&clk,0,0);\nVL_IN8(&axi_clk,0,0);").unwrap();
        let error = clock("t", &two).unwrap_err().to_string();
        assert_eq!(error, "t has more than one clock: clk, axi_clk");
        let none = ports("VL_IN8(&blk,0,0);").unwrap();
        assert_eq!(clock("t", &none).unwrap(), None);
    }
}
