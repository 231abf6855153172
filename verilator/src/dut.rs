//! A simulated module: loads the shared object, gives its ports by name, clocks it.
//!
//!   set inputs ──► settle (clock low) ──► read outputs ──► edge (clock high) ──► next cycle
//!
//! Invariants: 2 evaluations per cycle; after `settle` outputs follow the inputs, so ready and
//! valid can be sampled before the edge (`settle_shows_what_the_edge_will_take`).

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use libloading::{Library, Symbol};

use crate::{Error, Source, Toolbox, build};

// Ports are read and written as bytes.
#[cfg(target_endian = "big")]
compile_error!("values of the simulation are taken to lie lowest byte first");

/// A port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortInfo {
    /// Name in Verilog.
    pub name: String,
    /// Width in bits.
    pub width: usize,
    /// Whether it is an input.
    pub input: bool,
}

/// Handle of a port, for the [`Dut`] that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port(usize);

/// Row of the shim's table.
#[repr(C)]
struct Row {
    name: *const c_char,
    width: u32,
    bytes: u32,
    input: u32,
}

type Handle = *mut c_void;

/// Functions of the shim.
struct Calls {
    free: unsafe extern "C" fn(Handle),
    message: unsafe extern "C" fn(Handle) -> *const c_char,
    settle: unsafe extern "C" fn(Handle) -> c_int,
    edge: unsafe extern "C" fn(Handle) -> c_int,
    clock: unsafe extern "C" fn(Handle) -> c_int,
    trace_start: unsafe extern "C" fn(Handle, *const c_char) -> c_int,
    trace_stop: unsafe extern "C" fn(Handle),
}

/// Where the value of a port lies: `bytes` is 1, 2, 4, 8 or a multiple of 4.
#[derive(Clone, Copy)]
struct Slot {
    value: *mut u8,
    bytes: usize,
    width: usize,
}

/// A simulated module.
pub struct Dut {
    handle: Handle,
    calls: Calls,
    top: String,
    trace: bool,
    ports: Vec<PortInfo>,
    slots: Vec<Slot>,
    cycle: u64,
    // Dropped last: `calls` points into it.
    _library: Library,
}

// SAFETY: the object behind `handle` is owned by this value alone and has no thread of its own;
// Verilator allows its use from any one thread at a time.
unsafe impl Send for Dut {}

impl std::fmt::Debug for Dut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dut").field("top", &self.top).field("cycle", &self.cycle).finish()
    }
}

impl Dut {
    /// Builds the module, or takes it from the cache, and loads it.
    ///
    /// # Errors
    /// If a tool is missing or fails, or the cache cannot be used.
    pub fn build(source: &Source) -> Result<Self, Error> {
        Self::build_with(source, &Toolbox::from_env())
    }

    /// As [`Dut::build`], with tools and cache of the caller's choice.
    ///
    /// # Errors
    /// If a tool is missing or fails, or the cache cannot be used.
    pub fn build_with(source: &Source, tools: &Toolbox) -> Result<Self, Error> {
        let path = build::shared_object(source, tools)?;
        Self::load(&path, source)
    }

    fn load(path: &Path, source: &Source) -> Result<Self, Error> {
        let fail = |error| Error::Load { path: PathBuf::from(path), source: error };
        // SAFETY: the file was compiled from this crate's shim and its seal was checked; loading it
        // runs only the constructors of Verilator's run time.
        let library = unsafe { Library::new(path) }.map_err(fail)?;
        // SAFETY: names and types of all symbols are those of `SHIM` in shim.rs, whose text is part
        // of the cache key.
        let (new, count, rows, port, calls) = unsafe {
            let new = *symbol::<unsafe extern "C" fn() -> Handle>(&library, path, "groove_new")?;
            let count =
                *symbol::<unsafe extern "C" fn() -> u32>(&library, path, "groove_port_count")?;
            let rows =
                *symbol::<unsafe extern "C" fn() -> *const Row>(&library, path, "groove_ports")?;
            let port = *symbol::<unsafe extern "C" fn(Handle, u32) -> *mut u8>(
                &library,
                path,
                "groove_port",
            )?;
            (new, count, rows, port, calls(&library, path)?)
        };
        // SAFETY: no argument; the result is checked for null.
        let handle = unsafe { new() };
        if handle.is_null() {
            return Err(Error::Simulation { cycle: 0, message: "construction failed".to_owned() });
        }
        let mut ports = Vec::new();
        let mut slots = Vec::new();
        // SAFETY: the table has `count` rows and static lifetime; `port` returns for each index the
        // address of a member of the object behind `handle`, which lives until `free`.
        unsafe {
            let rows = std::slice::from_raw_parts(rows(), count() as usize);
            for (index, row) in (0u32..).zip(rows) {
                let name = CStr::from_ptr(row.name).to_string_lossy().into_owned();
                let (width, bytes) = (row.width as usize, row.bytes as usize);
                ports.push(PortInfo { name, width, input: row.input != 0 });
                slots.push(Slot { value: port(handle, index), bytes, width });
            }
        }
        let (top, trace) = (source.top.to_owned(), source.trace);
        Ok(Self { handle, calls, top, trace, ports, slots, cycle: 0, _library: library })
    }

    /// All ports, in Verilator's order.
    pub fn ports(&self) -> &[PortInfo] {
        &self.ports
    }

    /// Handle of the port of that name.
    ///
    /// # Errors
    /// If there is none; the text lists those there are.
    pub fn port(&self, name: &str) -> Result<Port, Error> {
        self.ports.iter().position(|p| p.name == name).map(Port).ok_or_else(|| Error::NoPort {
            top: self.top.clone(),
            name: name.to_owned(),
            known: self.ports.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }

    /// Width of a port in bits.
    pub fn width(&self, port: Port) -> usize {
        self.slots[port.0].width
    }

    /// Sets an input of any width; bits above bit 63 or above its width are zero.
    pub fn set(&mut self, port: Port, value: u64) {
        let Slot { value: at, bytes, width } = self.slots[port.0];
        let value = if width < 64 { value & ((1 << width) - 1) } else { value };
        // SAFETY: `at` points to `bytes` bytes aligned for a value of that size (a word array if it
        // is no power of two up to 8), in the object that `self` owns; `&mut self` excludes other
        // users.
        unsafe {
            match bytes {
                1 => *at = value as u8,
                2 => *at.cast::<u16>() = value as u16,
                4 => *at.cast::<u32>() = value as u32,
                8 => *at.cast::<u64>() = value,
                _ => {
                    let words = std::slice::from_raw_parts_mut(at.cast::<u32>(), bytes / 4);
                    words.fill(0);
                    words[0] = value as u32;
                    words[1] = (value >> 32) as u32;
                }
            }
        }
    }

    /// Reads a port; of a wide one the lowest 64 bits.
    pub fn read(&self, port: Port) -> u64 {
        let Slot { value: at, bytes, .. } = self.slots[port.0];
        // SAFETY: as in `set`; `&self` excludes writers.
        unsafe {
            match bytes {
                1 => u64::from(*at),
                2 => u64::from(*at.cast::<u16>()),
                4 => u64::from(*at.cast::<u32>()),
                8 => *at.cast::<u64>(),
                _ => {
                    let words = at.cast::<u32>();
                    u64::from(*words) | u64::from(*words.add(1)) << 32
                }
            }
        }
    }

    /// Sets an input from little-endian words; missing ones are zero, bits above its width are
    /// ignored.
    pub fn set_words(&mut self, port: Port, words: &[u32]) {
        let Slot { value: at, bytes, width } = self.slots[port.0];
        if width <= 64 {
            let word = |i: usize| u64::from(words.get(i).copied().unwrap_or(0));
            return self.set(port, word(0) | word(1) << 32);
        }
        // SAFETY: wider than 64 bits is an array of `bytes / 4` words; else as in `set`.
        let value = unsafe { std::slice::from_raw_parts_mut(at.cast::<u32>(), bytes / 4) };
        let given = words.len().min(value.len());
        value[..given].copy_from_slice(&words[..given]);
        value[given..].fill(0);
        if !width.is_multiple_of(32) {
            let last = value.len() - 1;
            value[last] &= (1 << (width % 32)) - 1;
        }
    }

    /// Reads a port as little-endian words; words behind its width are zero.
    pub fn read_words(&self, port: Port, words: &mut [u32]) {
        if self.slots[port.0].width <= 64 {
            let value = self.read(port);
            for (i, word) in words.iter_mut().enumerate() {
                *word = if i < 2 { (value >> (32 * i)) as u32 } else { 0 };
            }
            return;
        }
        let value = self.words(port);
        let given = words.len().min(value.len());
        words[..given].copy_from_slice(&value[..given]);
        words[given..].fill(0);
    }

    /// The words of a port wider than 64 bits, without a copy.
    ///
    /// # Panics
    /// If it is not wider than 64 bits.
    pub fn words(&self, port: Port) -> &[u32] {
        let Slot { value: at, bytes, width } = self.slots[port.0];
        assert!(width > 64, "{} is not a word array", self.ports[port.0].name);
        // SAFETY: wider than 64 bits is an array of `bytes / 4` words in the object that `self`
        // owns; the borrow of `self` excludes evaluation while it lasts.
        unsafe { std::slice::from_raw_parts(at.cast::<u32>(), bytes / 4) }
    }

    /// All bytes of a port, the lowest first.
    pub(crate) fn bytes(&self, port: Port) -> &[u8] {
        let Slot { value: at, bytes, .. } = self.slots[port.0];
        // SAFETY: `at` points to `bytes` bytes in the object that `self` owns; the borrow of `self`
        // excludes evaluation while it lasts. Values lie lowest byte first (see the check above).
        unsafe { std::slice::from_raw_parts(at, bytes) }
    }

    /// All bytes of an input as wide as its storage, the lowest first.
    ///
    /// # Panics
    /// If it is narrower: bits above its width have to stay zero.
    pub(crate) fn bytes_mut(&mut self, port: Port) -> &mut [u8] {
        let Slot { value: at, bytes, width } = self.slots[port.0];
        assert_eq!(width, 8 * bytes, "{} has bits to spare", self.ports[port.0].name);
        // SAFETY: as in `bytes`; `&mut self` excludes all other users.
        unsafe { std::slice::from_raw_parts_mut(at, bytes) }
    }

    /// Clock low: outputs follow the inputs that were set.
    ///
    /// # Errors
    /// If Verilator's run time gives up.
    pub fn settle(&mut self) -> Result<(), Error> {
        // SAFETY: `handle` is alive; no C++ exception leaves the shim.
        let status = unsafe { (self.calls.settle)(self.handle) };
        self.check(status)
    }

    /// Clock high: registers take their inputs. Ends the cycle.
    ///
    /// # Errors
    /// If Verilator's run time gives up.
    pub fn edge(&mut self) -> Result<(), Error> {
        // SAFETY: `handle` is alive; no C++ exception leaves the shim.
        let status = unsafe { (self.calls.edge)(self.handle) };
        self.cycle += 1;
        self.check(status)
    }

    /// One full cycle: [`Dut::settle`], then [`Dut::edge`].
    ///
    /// # Errors
    /// If Verilator's run time gives up.
    pub fn clock(&mut self) -> Result<(), Error> {
        // SAFETY: `handle` is alive; no C++ exception leaves the shim.
        let status = unsafe { (self.calls.clock)(self.handle) };
        self.cycle += 1;
        self.check(status)
    }

    /// Cycles since construction.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Writes waves (FST) from here on; a running file is ended first.
    ///
    /// # Errors
    /// If it was built without waves, or the file cannot be written.
    pub fn trace_start(&mut self, path: &Path) -> Result<(), Error> {
        if !self.trace {
            return Err(Error::NoTrace);
        }
        let fail = || Error::Wave { path: path.to_owned() };
        // The writer of Verilator does not tell the reason; try here first.
        std::fs::File::create(path).map_err(|_| fail())?;
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| fail())?;
        // SAFETY: `handle` is alive; `name` outlives the call; no C++ exception leaves the shim.
        match unsafe { (self.calls.trace_start)(self.handle, name.as_ptr()) } {
            0 => Ok(()),
            _ => Err(fail()),
        }
    }

    /// Ends the wave file, if one is open.
    pub fn trace_stop(&mut self) {
        // SAFETY: `handle` is alive; no C++ exception leaves the shim.
        unsafe { (self.calls.trace_stop)(self.handle) }
    }

    fn check(&self, status: c_int) -> Result<(), Error> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: `handle` is alive; the text lives until the next call.
        let message = unsafe { CStr::from_ptr((self.calls.message)(self.handle)) };
        let message = message.to_string_lossy().into_owned();
        Err(Error::Simulation { cycle: self.cycle, message })
    }
}

impl Drop for Dut {
    fn drop(&mut self) {
        // SAFETY: `handle` came from `groove_new` and is freed once, before the library is closed.
        unsafe { (self.calls.free)(self.handle) }
    }
}

/// # Safety
/// `T` must be the type of the symbol in the shim.
unsafe fn symbol<'a, T>(
    library: &'a Library,
    path: &Path,
    name: &str,
) -> Result<Symbol<'a, T>, Error> {
    // SAFETY: as the caller promises.
    unsafe { library.get(name.as_bytes()) }
        .map_err(|source| Error::Load { path: path.to_owned(), source })
}

/// # Safety
/// `library` must be built from the shim.
unsafe fn calls(library: &Library, path: &Path) -> Result<Calls, Error> {
    // SAFETY: types as in the shim; the pointers are used only while `Dut` holds the library.
    unsafe {
        Ok(Calls {
            free: *symbol(library, path, "groove_free")?,
            message: *symbol(library, path, "groove_message")?,
            settle: *symbol(library, path, "groove_settle")?,
            edge: *symbol(library, path, "groove_edge")?,
            clock: *symbol(library, path, "groove_clock")?,
            trace_start: *symbol(library, path, "groove_trace_start")?,
            trace_stop: *symbol(library, path, "groove_trace_stop")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: &str = include_str!("../testdata/slice.v");

    /// Tools with a cache of their own, in which Verilator's run time lies already.
    fn tools(cache: &Path) -> Toolbox {
        let tools = Toolbox::from_env();
        build::shared_object(&slice(false), &tools).unwrap();
        for entry in std::fs::read_dir(tools.cache.as_ref().unwrap()).unwrap().flatten() {
            if entry.path().extension().is_some_and(|x| x == "o") {
                std::fs::copy(entry.path(), cache.join(entry.file_name())).unwrap();
            }
        }
        Toolbox { cache: Some(cache.to_owned()), ..tools }
    }

    fn slice(trace: bool) -> Source<'static> {
        Source { top: "slice", verilog: SLICE, trace }
    }

    #[test]
    fn settle_shows_what_the_edge_will_take() {
        let mut dut = Dut::build(&slice(false)).unwrap();
        let port = |name: &str| dut.port(name).unwrap();
        let (rst, valid, ready) = (port("sys_rst"), port("s_tvalid"), port("s_tready"));
        let (data, out, out_valid) = (port("s_tdata"), port("m_tdata"), port("m_tvalid"));
        let (out_ready, count, taken) = (port("m_tready"), port("count"), port("taken"));
        dut.set(rst, 1);
        dut.clock().unwrap();
        dut.set(rst, 0);
        dut.set(valid, 1);
        let words: Vec<u32> = (1..=4).collect();
        dut.set_words(data, &words);
        dut.settle().unwrap();
        assert_eq!((dut.read(ready), dut.read(taken), dut.read(out_valid)), (1, 1, 0));
        dut.edge().unwrap();
        assert_eq!(dut.read(out_valid), 1);
        dut.settle().unwrap();
        assert_eq!((dut.read(ready), dut.read(taken)), (0, 0), "full and stalled");
        dut.set(out_ready, 1);
        dut.settle().unwrap();
        assert_eq!(
            (dut.read(ready), dut.read(taken)),
            (1, 1),
            "follows its input in the same cycle"
        );
        let mut read = [9; 5];
        dut.read_words(out, &mut read);
        // 100 bits: the top word is cut to 4.
        assert_eq!(read, [1, 2, 3, 4, 0]);
        assert_eq!(dut.words(out), [1, 2, 3, 4]);
        assert_eq!(dut.read(out), 1 | 2 << 32);
        assert_eq!(dut.read(count), 1);
        assert_eq!(dut.cycle(), 2);
        assert_eq!(dut.width(data), 100);
    }

    #[test]
    fn values_are_cut_to_the_width_of_the_port() {
        let mut dut = Dut::build(&slice(false)).unwrap();
        let (data, rst) = (dut.port("s_tdata").unwrap(), dut.port("sys_rst").unwrap());
        dut.set_words(data, &[u32::MAX; 9]);
        assert_eq!(dut.words(data), [u32::MAX, u32::MAX, u32::MAX, 0xf]);
        dut.set(data, u64::MAX);
        assert_eq!(dut.words(data), [u32::MAX, u32::MAX, 0, 0]);
        dut.set(rst, 6);
        assert_eq!(dut.read(rst), 0);
        dut.set_words(rst, &[3, 7]);
        assert_eq!(dut.read(rst), 1);
    }

    #[test]
    fn unknown_port_lists_those_there_are() {
        let dut = Dut::build(&slice(false)).unwrap();
        let text = dut.port("nope").unwrap_err().to_string();
        assert!(text.starts_with("slice has no port nope; it has sys_clk, "), "{text}");
    }

    #[test]
    fn damaged_entry_is_rebuilt() {
        let dir = tempfile::tempdir().unwrap();
        let tools = tools(dir.path());
        let path = build::shared_object(&slice(false), &tools).unwrap();
        let made = std::fs::metadata(&path).unwrap();
        build::shared_object(&slice(false), &tools).unwrap();
        let inode = |m: &std::fs::Metadata| std::os::unix::fs::MetadataExt::ino(m);
        assert_eq!(inode(&made), inode(&std::fs::metadata(&path).unwrap()), "a hit keeps the file");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(bytes.len() / 2);
        std::fs::write(&path, &bytes).unwrap();
        let dut = Dut::build_with(&slice(false), &tools).unwrap();
        assert!(dut.port("s_tdata").is_ok());
        assert!(std::fs::metadata(&path).unwrap().len() > bytes.len() as u64);
    }

    #[test]
    fn parallel_builds_share_one_entry() {
        let dir = tempfile::tempdir().unwrap();
        let tools = tools(dir.path());
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| Dut::build_with(&slice(false), &tools).unwrap());
            }
        });
        let objects = std::fs::read_dir(dir.path()).unwrap().flatten();
        let count = objects.filter(|e| e.path().extension().is_some_and(|x| x == "so")).count();
        assert_eq!(count, 1);
    }

    #[test]
    fn broken_verilog_is_an_error_with_its_line() {
        let source = Source {
            top: "t",
            verilog: "module t(input wire a);\n oops\nendmodule\n",
            trace: false,
        };
        let text = Dut::build(&source).unwrap_err().to_string();
        assert!(text.starts_with("verilator failed"), "{text}");
        assert!(text.contains("source.v:3:1: syntax error"), "{text}");
    }

    #[test]
    fn endless_loop_is_an_error_not_an_abort() {
        let verilog = "module t(input wire a, output wire y);\n\
            assign y = a & ~y;\nendmodule\n";
        let source = Source { top: "t", verilog, trace: false };
        let mut dut = Dut::build(&source).unwrap();
        let a = dut.port("a").unwrap();
        let text = (0..4)
            .find_map(|i| {
                dut.set(a, i & 1);
                dut.settle().err()
            })
            .expect("the loop cannot settle")
            .to_string();
        assert!(text.contains("did not converge") || text.contains("DIDNOTCONVERGE"), "{text}");
    }

    #[test]
    fn waves_are_written_in_windows() {
        let dir = tempfile::tempdir().unwrap();
        let mut dut = Dut::build(&slice(true)).unwrap();
        for name in ["one.fst", "two.fst"] {
            let file = dir.path().join(name);
            dut.trace_start(&file).unwrap();
            for _ in 0..20 {
                dut.clock().unwrap();
            }
            dut.trace_stop();
            dut.clock().unwrap();
            let bytes = std::fs::read(&file).unwrap();
            assert!(bytes.len() > 100, "{name} has {} bytes", bytes.len());
        }
        let missing = dir.path().join("no/such/dir.fst");
        assert!(matches!(dut.trace_start(&missing), Err(Error::Wave { .. })));
        let mut plain = Dut::build(&slice(false)).unwrap();
        assert!(matches!(plain.trace_start(&missing), Err(Error::NoTrace)));
    }
}
