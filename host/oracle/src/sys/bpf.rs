//! The `bpf` system call: array maps, programs at the TC hooks, links that attach them.
//!
//! Follows: Linux `include/uapi/linux/bpf.h`, `union bpf_attr`. A link holds as long as its
//! descriptor.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::{check, owned};
use crate::assembly::Instruction;

const MAP_CREATE: libc::c_int = 0;
const MAP_LOOKUP: libc::c_int = 1;
const MAP_UPDATE: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const MAP_TYPE_ARRAY: u32 = 2;
const PROG_TYPE_SCHED_CLS: u32 = 3;
const LOG_BYTES: usize = 1 << 16;

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// `BPF_TCX_INGRESS`.
    Ingress = 46,
    /// `BPF_TCX_EGRESS`.
    Egress = 47,
}

#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
}

#[repr(C)]
struct MapElement {
    map: u32,
    _hole: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgLoad {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    ifindex: u32,
    expected_attach_type: u32,
}

#[repr(C)]
struct LinkCreate {
    program: u32,
    ifindex: u32,
    attach_type: u32,
    flags: u32,
    relative: u32,
    _hole: u32,
    expected_revision: u64,
}

/// # Safety
///
/// `attributes` must be the kernel's layout for `command`, and every address in it must be valid
/// for the length that the kernel takes it for.
unsafe fn bpf<T>(command: libc::c_int, attributes: &mut T) -> libc::c_long {
    let bytes = size_of::<T>();
    // SAFETY: the caller vouches for the contents; pointer and size are those of one value.
    unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), bytes) }
}

fn number(descriptor: &OwnedFd) -> u32 {
    descriptor.as_raw_fd().unsigned_abs()
}

/// Array of equally long values.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    value_bytes: usize,
}

impl Map {
    /// A map of `entries` values of `value_bytes` bytes, all zero.
    pub fn new(value_bytes: usize, entries: u32) -> io::Result<Self> {
        let bytes = u32::try_from(value_bytes).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut attributes =
            MapCreate { map_type: MAP_TYPE_ARRAY, key_bytes: 4, value_bytes: bytes, entries };
        // SAFETY: the layout is that of BPF_MAP_CREATE, without addresses.
        let descriptor = owned(unsafe { bpf(MAP_CREATE, &mut attributes) })?;
        Ok(Self { descriptor, value_bytes })
    }

    /// Its descriptor's number, as programs name it.
    pub fn number(&self) -> u32 {
        number(&self.descriptor)
    }

    /// Writes one value.
    pub fn set(&self, key: u32, value: &[u8]) -> io::Result<()> {
        assert_eq!(value.len(), self.value_bytes, "a value of another map");
        let mut value = value.to_vec();
        self.element(MAP_UPDATE, key, &mut value)
    }

    /// Reads one value.
    pub fn value(&self, key: u32) -> io::Result<Vec<u8>> {
        // The kernel gives each value of an array rounded up to eight bytes.
        let mut value = vec![0; self.value_bytes.next_multiple_of(8)];
        self.element(MAP_LOOKUP, key, &mut value)?;
        value.truncate(self.value_bytes);
        Ok(value)
    }

    fn element(&self, command: libc::c_int, key: u32, value: &mut [u8]) -> io::Result<()> {
        let mut attributes = MapElement {
            map: self.number(),
            _hole: 0,
            key: std::ptr::from_ref(&key) as u64,
            value: value.as_mut_ptr() as u64,
            flags: 0,
        };
        // SAFETY: the layout is that of BPF_MAP_*_ELEM; key and value live until the call returns,
        // and the value is at least as long as the map's.
        check(unsafe { bpf(command, &mut attributes) }).map(drop)
    }
}

/// Loads a program for a hook. The error ends with what the verifier said last.
pub fn load(program: &[Instruction], hook: Hook) -> io::Result<OwnedFd> {
    let mut log = vec![0_u8; LOG_BYTES];
    let mut attributes = ProgLoad {
        kind: PROG_TYPE_SCHED_CLS,
        instruction_count: u32::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?,
        instructions: program.as_ptr() as u64,
        license: c"GPL".as_ptr() as u64,
        log_level: 1,
        log_bytes: LOG_BYTES as u32,
        log: log.as_mut_ptr() as u64,
        kernel_version: 0,
        flags: 0,
        name: *b"groove_oracle\0\0\0",
        ifindex: 0,
        expected_attach_type: hook as u32,
    };
    // SAFETY: the layout is that of BPF_PROG_LOAD; program, licence and log live until the call
    // returns, with the lengths given.
    owned(unsafe { bpf(PROG_LOAD, &mut attributes) }).map_err(|error| {
        let text = String::from_utf8_lossy(&log);
        let said = text.trim_end_matches('\0').trim_end().lines().rev();
        // The last line counts instructions; the one before it says what is wrong.
        let said: Vec<&str> = said.filter(|line| !line.starts_with("processed")).take(1).collect();
        match said.first() {
            Some(line) => io::Error::new(error.kind(), format!("{error}; the verifier: {line}")),
            None => error,
        }
    })
}

/// Attaches a program to a device, for as long as the link's descriptor is kept.
pub fn attach(program: &OwnedFd, ifindex: u32, hook: Hook) -> io::Result<OwnedFd> {
    let mut attributes = LinkCreate {
        program: number(program),
        ifindex,
        attach_type: hook as u32,
        flags: 0,
        relative: 0,
        _hole: 0,
        expected_revision: 0,
    };
    // SAFETY: the layout is that of BPF_LINK_CREATE for TCX, without addresses.
    owned(unsafe { bpf(LINK_CREATE, &mut attributes) })
}
