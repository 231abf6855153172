//! Reader: one Ethernet frame after the other from a pcap or pcapng stream.
//!
//! Follows: the pcap and pcapng drafts of the IETF opsawg group (draft-ietf-opsawg-pcap,
//! draft-ietf-opsawg-pcapng), through the `pcap-file` crate: both byte orders, micro- and
//! nanoseconds, several sections and interfaces, if_tsresol and if_tsoffset, enhanced, simple and
//! obsolete packet blocks.
//! Invariants: memory does not grow with the file (`memory_is_flat`); damage is an error that names
//! its byte and leaves what came before it usable (`damage_is_an_error_after_the_good_frames`), and
//! nothing comes behind an error (`nothing_comes_behind_an_error`).
//! Not here: the decision what to do with a frame that the snap length cut.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcap::{PcapReadError, PcapReader, PcapTsResolution};
use pcap_file::pcapng::{Block, PcapNgReader};

use super::Error;

/// Bytes that are read at a time; no record may be longer.
const BUFFER_BYTES: usize = 8 << 20;
/// Bytes of a pcap file header.
const PCAP_HEADER_BYTES: u64 = 24;
/// Bytes of a pcap record header.
const PCAP_RECORD_BYTES: u64 = 16;

/// One record of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Number of the record, the first one 1, as packet tools count.
    pub record: u64,
    /// Where the record starts in the file.
    pub offset: u64,
    /// Time since 1970; zero where the record carries none.
    pub time: Duration,
    /// Length on the wire.
    pub wire_bytes: u32,
    /// What was captured of it.
    pub bytes: &'a [u8],
}

impl Frame<'_> {
    /// Whether the snap length cut the frame.
    pub fn is_cut(&self) -> bool {
        self.bytes.len() < self.wire_bytes as usize
    }
}

type Input = io::Chain<Cursor<Vec<u8>>, Box<dyn Read>>;

enum Format {
    Pcap(PcapReader<Input>),
    Pcapng(PcapNgReader<Input>),
}

struct Record {
    time: Duration,
    wire_bytes: u32,
    link: DataLink,
}

/// A capture being read.
pub struct Reader {
    path: String,
    format: Format,
    total_bytes: Option<u64>,
    record: u64,
    offset: u64,
    next_offset: u64,
    bytes: Vec<u8>,
    ended: bool,
}

impl Reader {
    /// Opens a capture file; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        if name == "-" {
            return Self::new(name, Box::new(io::stdin()), None);
        }
        let open = |source| Error::Open { path: path.display().to_string(), source };
        let file = File::open(path).map_err(open)?;
        let metadata = file.metadata().map_err(open)?;
        if metadata.is_dir() {
            return Err(Error::Directory { path: name });
        }
        let total_bytes = metadata.is_file().then_some(metadata.len());
        Self::new(name, Box::new(file), total_bytes)
    }

    /// Reads a capture from any source of bytes; `path` is its name in errors.
    pub fn new(
        path: String,
        mut source: Box<dyn Read>,
        total_bytes: Option<u64>,
    ) -> Result<Self, Error> {
        let mut magic = Vec::with_capacity(4);
        source.by_ref().take(4).read_to_end(&mut magic).map_err(|source| Error::Read {
            path: path.clone(),
            offset: 0,
            source,
        })?;
        let word = match magic[..] {
            [] => return Err(Error::Empty { path }),
            [a, b, c, d] => u32::from_be_bytes([a, b, c, d]),
            _ => return Err(unknown_format(path, &magic)),
        };
        let input = Cursor::new(magic.clone()).chain(source);
        let (format, next_offset) = match word {
            0xa1b2_c3d4 | 0xd4c3_b2a1 | 0xa1b2_3c4d | 0x4d3c_b2a1 => {
                let reader = PcapReader::with_capacity(input, BUFFER_BYTES)
                    .map_err(|e| pcap_error(&path, 0, e))?;
                (Format::Pcap(reader), PCAP_HEADER_BYTES)
            }
            0x0a0d_0d0a => {
                let reader = PcapNgReader::with_capacity(input, BUFFER_BYTES)
                    .map_err(|e| pcapng_error(&path, 0, e))?;
                (Format::Pcapng(reader), 0)
            }
            _ => return Err(unknown_format(path, &magic)),
        };
        let bytes = Vec::new();
        let (record, offset, ended) = (0, 0, false);
        Ok(Self { path, format, total_bytes, record, offset, next_offset, bytes, ended })
    }

    /// Name of the capture as given.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Size of the file, if it is one.
    pub fn total_bytes(&self) -> Option<u64> {
        self.total_bytes
    }

    /// The next record, or `None` at the end. After an error the stream is at its end.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, Error> {
        if self.ended {
            return Ok(None);
        }
        self.ended = true; // unless there is a frame
        self.offset = self.next_offset;
        let read = match &mut self.format {
            Format::Pcap(reader) => next_pcap(reader, &self.path, self.offset, &mut self.bytes),
            Format::Pcapng(reader) => {
                self.offset = reader.bytes_parsed();
                next_pcapng(reader, &self.path, &mut self.offset, &mut self.bytes)
            }
        };
        let Some(record) = read? else { return Ok(None) };
        if record.link != DataLink::ETHERNET {
            let link = format!("{} ({:?})", u32::from(record.link), record.link);
            return Err(Error::LinkType { path: self.path.clone(), link });
        }
        self.ended = false;
        self.next_offset = self.offset + PCAP_RECORD_BYTES + self.bytes.len() as u64;
        self.record += 1;
        Ok(Some(Frame {
            record: self.record,
            offset: self.offset,
            time: record.time,
            wire_bytes: record.wire_bytes,
            bytes: &self.bytes,
        }))
    }
}

fn unknown_format(path: String, magic: &[u8]) -> Error {
    let text: Vec<String> = magic.iter().map(|b| format!("{b:02x}")).collect();
    // gzip, zstd, xz, bzip2.
    let compressed = [&[0x1f, 0x8b][..], &[0x28, 0xb5], &[0xfd, b'7'], b"BZ"]
        .iter()
        .any(|prefix| magic.starts_with(prefix));
    Error::Format { path, magic: text.join(" "), compressed }
}

/// Reads one record; the permissive call is used because capture tools write lengths above the snap
/// length and fractions of a second above one second, and both are harmless here.
fn next_pcap(
    reader: &mut PcapReader<Input>,
    path: &str,
    offset: u64,
    bytes: &mut Vec<u8>,
) -> Result<Option<Record>, Error> {
    let header = reader.header();
    // A header without records still has to name Ethernet, so that the refusal does not depend on
    // traffic.
    if header.datalink != DataLink::ETHERNET {
        let record = Record { time: Duration::ZERO, wire_bytes: 0, link: header.datalink };
        return Ok(Some(record));
    }
    let Some(packet) = reader.next_raw_packet() else { return Ok(None) };
    let packet = packet.map_err(|e| pcap_error(path, offset, e))?;
    bytes.clear();
    bytes.extend_from_slice(&packet.data);
    let unit_ns = match header.ts_resolution {
        PcapTsResolution::MicroSecond => 1000,
        PcapTsResolution::NanoSecond => 1,
    };
    let fraction = Duration::from_nanos(u64::from(packet.ts_frac) * unit_ns);
    Ok(Some(Record {
        time: Duration::from_secs(u64::from(packet.ts_sec)) + fraction,
        wire_bytes: packet.orig_len,
        link: header.datalink,
    }))
}

/// Reads blocks up to the next one that holds a packet; `offset` follows.
fn next_pcapng(
    reader: &mut PcapNgReader<Input>,
    path: &str,
    offset: &mut u64,
    bytes: &mut Vec<u8>,
) -> Result<Option<Record>, Error> {
    loop {
        *offset = reader.bytes_parsed();
        let Some(next) = reader.next_block() else { return Ok(None) };
        let (block, state) = next.map_err(|e| pcapng_error(path, *offset, e))?;
        let (interface, time, wire_bytes, data) = match &block {
            Block::EnhancedPacket(b) => (b.interface_id, b.timestamp, b.original_len, &b.data),
            Block::Packet(b) => (u32::from(b.interface_id), b.timestamp, b.original_len, &b.data),
            Block::SimplePacket(b) => (0, Duration::ZERO, b.original_len, &b.data),
            _ => continue,
        };
        // The reader has refused packets of an interface that was not described.
        let link = state.interfaces()[interface as usize].linktype;
        bytes.clear();
        bytes.extend_from_slice(data);
        return Ok(Some(Record { time, wire_bytes, link }));
    }
}

fn pcap_error(path: &str, offset: u64, error: PcapReadError) -> Error {
    match error {
        PcapReadError::Io(source) => io_error(path, offset, source),
        other => Error::Damaged { path: path.to_owned(), offset, source: Box::new(other) },
    }
}

/// The crate does not export the name of this error: what the file system said is found as its
/// source.
fn pcapng_error<E>(path: &str, offset: u64, error: E) -> Error
where
    E: std::error::Error + Send + Sync + 'static,
{
    match error.source().and_then(|source| source.downcast_ref::<io::Error>()) {
        Some(source) => io_error(path, offset, io::Error::new(source.kind(), source.to_string())),
        None => Error::Damaged { path: path.to_owned(), offset, source: Box::new(error) },
    }
}

fn io_error(path: &str, offset: u64, source: io::Error) -> Error {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::UnexpectedEof => Error::CutOff { path, offset },
        _ => Error::Read { path, offset, source },
    }
}
