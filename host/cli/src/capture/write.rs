//! Writer: frames and deliveries as a pcapng capture with nanoseconds and a comment per frame.
//!
//! Invariants: tshark reads what is written, merged frames of 65,549 bytes included
//! (`tshark_reads_the_deliveries`). A stripped tag is put back into the frame, as packet sockets
//! do, so that analysers show it; all other bytes are those delivered.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use groove_spec::stages::coalesce::GSO_NAMES;
use groove_spec::{AloneReason, CsumState, Delivery};
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};

use super::Error;

/// Bytes of both Ethernet addresses: a tag stands behind them.
const ADDRESSES_BYTES: usize = 12;

/// A capture being written.
pub struct Writer {
    path: String,
    inner: PcapNgWriter<BufWriter<File>>,
}

impl Writer {
    /// Creates the file; an existing one is replaced.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let file = File::create(path)
            .map_err(|e| Error::Write { path: name.clone(), source: Box::new(e) })?;
        let application = format!("groove {}", env!("CARGO_PKG_VERSION"));
        let section = SectionHeaderBlock {
            options: vec![SectionHeaderOption::UserApplication(application.into())],
            ..SectionHeaderBlock::default()
        };
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: 0,
            options: vec![InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO)],
        };
        let inner = PcapNgWriter::with_section_header(BufWriter::new(file), section)
            .and_then(|mut w| w.write_block(&interface.into_block()).map(|_| w))
            .map_err(|e| Error::Write { path: name.clone(), source: Box::new(e) })?;
        Ok(Self { path: name, inner })
    }

    /// Appends one frame.
    pub fn frame(&mut self, time: Duration, bytes: &[u8], comment: &str) -> Result<(), Error> {
        let mut options = Vec::new();
        if !comment.is_empty() {
            let comment = CommonOption::Comment(Cow::Borrowed(comment));
            options.push(EnhancedPacketOption::Common(comment));
        }
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: time,
            original_len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            data: Cow::Borrowed(bytes),
            options,
        };
        let written = self.inner.write_block(&block.into_block());
        written.map(|_| ()).map_err(|e| self.error(Box::new(e)))
    }

    /// Appends one delivery, with its tag put back and its metadata as the comment.
    pub fn delivery(&mut self, time: Duration, delivery: &Delivery) -> Result<(), Error> {
        self.frame(time, &with_tag(delivery), &comment(delivery))
    }

    /// Writes what is buffered; without it, a late error would go unseen.
    pub fn finish(self) -> Result<(), Error> {
        let Self { path, inner } = self;
        inner.into_inner().flush().map_err(|e| Error::Write { path, source: Box::new(e) })
    }

    fn error(&self, source: Box<dyn std::error::Error + Send + Sync>) -> Error {
        Error::Write { path: self.path.clone(), source }
    }
}

/// Bytes of a delivery with its stripped tag back in place.
pub fn with_tag(delivery: &Delivery) -> Cow<'_, [u8]> {
    let Some(tag) = delivery.vlan else { return Cow::Borrowed(&delivery.bytes) };
    let at = ADDRESSES_BYTES.min(delivery.bytes.len());
    let mut bytes = Vec::with_capacity(delivery.bytes.len() + 4);
    bytes.extend_from_slice(&delivery.bytes[..at]);
    bytes.extend_from_slice(&tag.tpid.to_be_bytes());
    bytes.extend_from_slice(&tag.tci.to_be_bytes());
    bytes.extend_from_slice(&delivery.bytes[at..]);
    Cow::Owned(bytes)
}

/// Metadata of a delivery as one line.
pub fn comment(delivery: &Delivery) -> String {
    let mut text = format!("queue {}, hash 0x{:08x}", delivery.queue, delivery.hash);
    let frames = &delivery.frames;
    // `write!` to a String cannot fail.
    let _ = match frames.as_slice() {
        [one] => write!(text, ", frame {one}"),
        [first, .., last] => write!(text, ", {} frames {first}..{last}", frames.len()),
        [] => Ok(()),
    };
    if delivery.gso_segs > 0 {
        let (size, segs) = (delivery.gso_size, delivery.gso_segs);
        let names = gso_names(delivery.gso_type);
        let _ = write!(text, ", gso_size {size}, gso_segs {segs}, gso_type {names}");
    }
    let _ = match delivery.csum {
        CsumState::None => write!(text, ", csum none"),
        CsumState::Unnecessary => write!(text, ", csum unnecessary level {}", delivery.csum_level),
        CsumState::Partial => write!(
            text,
            ", csum partial start {} offset {}",
            delivery.csum_start, delivery.csum_offset
        ),
    };
    let _ = match delivery.alone_reason {
        AloneReason::None => write!(text, ", end {}", delivery.end_reason.name()),
        reason => write!(text, ", alone {}", reason.name()),
    };
    text
}

/// Names of the set GSO bits, joined by `|`.
pub fn gso_names(bits: u16) -> String {
    let names = GSO_NAMES.iter().enumerate().filter(|(i, _)| bits & (1 << i) != 0);
    names.map(|(_, name)| *name).collect::<Vec<_>>().join("|")
}
