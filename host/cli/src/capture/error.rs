//! What can be wrong with a capture.

use std::io;

/// An error of reading or writing a capture. Names the file and, inside it, the byte.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened.
    #[error("failed to open capture {path}")]
    Open {
        /// File.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A directory was named.
    #[error("failed to open capture {path}: it is a directory")]
    Directory {
        /// File.
        path: String,
    },
    /// No byte in it.
    #[error("capture {path} is empty (0 bytes)")]
    Empty {
        /// File.
        path: String,
    },
    /// Neither format.
    #[error("{path} is no pcap or pcapng file: it begins with {magic}")]
    Format {
        /// File.
        path: String,
        /// First bytes in hexadecimal.
        magic: String,
        /// What the first bytes are known to mean.
        compressed: bool,
    },
    /// Frames of another kind than Ethernet.
    #[error("capture {path} holds frames of link type {link}; Groove takes Ethernet (1)")]
    LinkType {
        /// File.
        path: String,
        /// Number and name of the link type.
        link: String,
    },
    /// The file stops inside a header or record.
    #[error("capture {path} ends inside the record that starts at byte {offset}")]
    CutOff {
        /// File.
        path: String,
        /// Start of the record.
        offset: u64,
    },
    /// A record that breaks the format.
    #[error("capture {path} is damaged at byte {offset}")]
    Damaged {
        /// File.
        path: String,
        /// Start of the record.
        offset: u64,
        /// What is wrong with it.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The file system failed.
    #[error("failed to read capture {path} at byte {offset}")]
    Read {
        /// File.
        path: String,
        /// Start of the record.
        offset: u64,
        /// Why.
        source: io::Error,
    },
    /// The output cannot be written.
    #[error("failed to write capture {path}")]
    Write {
        /// File.
        path: String,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// The next step for whoever reads the message.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Open { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "give yourself read permission, or run as the owner of the file"
            }
            Self::Open { .. } => "check the path; a capture is a pcap or pcapng file",
            Self::Directory { .. } => "name one capture file inside it",
            Self::Empty { .. } => {
                "record again: `tcpdump --interface IFACE --snapshot-length 0 -w FILE.pcap`"
            }
            Self::Format { compressed: true, .. } => "decompress it first, for example with gunzip",
            Self::Format { .. } => {
                "name a capture; `editcap -F pcapng INPUT OUTPUT` converts other formats"
            }
            Self::LinkType { .. } => {
                "record on an Ethernet interface; `any`, Wi-Fi monitor and tunnel interfaces \
                 have other link types"
            }
            Self::CutOff { .. } | Self::Damaged { .. } => {
                "what was read up to there is reported; `editcap INPUT OUTPUT` saves the readable \
                 part"
            }
            Self::Read { .. } => {
                "check the disk or the pipe; what was read up to there is reported"
            }
            Self::Write { .. } => "check that the directory exists, is writable and has room",
        }
    }
}
