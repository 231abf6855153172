//! Messages that no client should send: the server lives, holds nothing, and says what was wrong.

mod support;

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use groove_driver::vfio_user::wire::{
    Access, DmaMap, DmaUnmap, ERROR, Header, NO_REPLY, REPLY, RegionInfo, SetIrqs, Version, command,
};
use groove_driver::{Device, Region};
use support::{Raw, Served, later};

#[test]
fn a_body_that_is_too_short_ends_the_connection() {
    let served = Served::new();
    let bodies = [2, 3, 4, 5, 7, 8, 9, 10];
    for number in bodies {
        let mut raw = Raw::new(&served);
        let reply = raw.ask(number, &[0; 11]);
        assert_eq!(reply.header.flags, REPLY | ERROR);
        assert!(raw.socket.receive(later()).is_err(), "closed");
        let event = served.event("Failed");
        assert!(event.contains(&format!("Body({number})")), "{event}");
    }
    served.is_well();
}

#[test]
fn broken_frames_end_the_connection() {
    let served = Served::new();
    for (bytes, flags) in [(0u32, 0u32), (15, 0), (u32::MAX, 0), (16, REPLY), (16, 2), (16, 0xf)] {
        let mut stream = UnixStream::connect(&served.path).unwrap();
        let header = Header { id: 1, command: command::VERSION, bytes, flags, error: 0 };
        stream.write_all(&header.encode()).unwrap();
        served.event("Failed");
    }
    // A message that never ends is given up after a while.
    let mut stream = UnixStream::connect(&served.path).unwrap();
    stream.write_all(&[1, 2, 3]).unwrap();
    let event = served.event("Failed");
    assert!(event.contains("Timeout"), "{event}");
    served.is_well();
}

#[test]
fn a_client_that_stalls_is_given_up() {
    let served = Served::new();
    let raw = Raw::new(&served);
    // Reads of a region, whose answers nobody takes.
    let body = Access { offset: 0, region: 7, count: 256 }.encode();
    let error = loop {
        let header = Header { command: command::REGION_READ, ..Header::default() };
        if let Err(error) = raw.socket.send(header, &[&body], &[], later()) {
            break error;
        }
    };
    let event = served.event("Failed");
    assert!(event.contains("taking of a reply"), "{event}; {error}");
}

#[test]
fn version_comes_first() {
    let served = Served::new();
    let mut raw = Raw::silent(&served);
    assert_eq!(raw.ask(command::DEVICE_INFO, &[0; 16]).header.flags, REPLY | ERROR);
    assert!(served.event("Failed").contains("NoVersion(4)"));
    for (body, what) in [
        (Version { major: 1, minor: 0 }.encode(), "OtherVersion(1)"),
        (vec![0, 0, 0], "Body(1)"),
        ([&Version { major: 0, minor: 0 }.encode()[..], b"{}"].concat(), "Body(1)"),
        ([&Version { major: 0, minor: 0 }.encode()[..], b"\xff\0"].concat(), "Body(1)"),
        ([&Version { major: 0, minor: 0 }.encode()[..], b"{\0}\0"].concat(), "Body(1)"),
    ] {
        let mut raw = Raw::silent(&served);
        assert_eq!(raw.ask(command::VERSION, &body).header.flags, REPLY | ERROR);
        let event = served.event("Failed");
        assert!(event.contains(what), "{event}");
    }
    let mut raw = Raw::silent(&served);
    let reply = raw.ask(command::VERSION, &Version { major: 0, minor: 7 }.encode());
    assert_eq!(Version::decode(&reply.body).unwrap().0, Version { major: 0, minor: 1 });
}

#[test]
fn impossible_commands_are_answered() {
    let served = Served::new();
    let mut raw = Raw::new(&served);
    let refused = |raw: &mut Raw, number, body: Vec<u8>| {
        let reply = raw.ask(number, &body).header;
        assert_eq!(reply.flags, REPLY | ERROR, "command {number}: {body:?}");
        reply.error as i32
    };
    let access = |offset, region, count| Access { offset, region, count }.encode();
    let invalid = rustix::io::Errno::INVAL.raw_os_error();
    for (offset, region, count) in [
        (0, 1, 4),
        (0, 9, 4),
        (0, u32::MAX, 4),
        (0x2000, 0, 4),
        (u64::MAX, 0, 4),
        (253, 7, 4),
        (0, 0, u32::MAX),
    ] {
        let body = access(offset, region, count);
        assert_eq!(refused(&mut raw, command::REGION_READ, body), invalid);
    }
    let body = [access(253, 7, 4), vec![0; 4]].concat();
    assert_eq!(refused(&mut raw, command::REGION_WRITE, body), invalid);
    let info = RegionInfo { index: 9, ..RegionInfo::default() }.encode();
    assert_eq!(refused(&mut raw, command::REGION_INFO, info), invalid);
    let map = |size, flags| DmaMap { argsz: 32, flags, offset: 0, address: 4096, size }.encode();
    assert_eq!(refused(&mut raw, command::DMA_MAP, map(0, 3)), invalid);
    assert_eq!(refused(&mut raw, command::DMA_MAP, map(u64::MAX, 3)), invalid);
    assert_eq!(refused(&mut raw, command::DMA_MAP, map(4096, 0)), invalid);
    let irqs = SetIrqs { argsz: 20, flags: 0x24, index: 2, start: 0, count: 5 }.encode();
    assert_eq!(refused(&mut raw, command::SET_IRQS, irqs), invalid);
    let unsupported = rustix::io::Errno::OPNOTSUPP.raw_os_error();
    for number in [0, 6, 11, 12, 14, 15, u16::MAX] {
        assert_eq!(refused(&mut raw, number, vec![0; 64]), unsupported);
    }
    let dirty_pages = DmaUnmap { argsz: 24, flags: 1, address: 0, size: 0 }.encode();
    assert_eq!(refused(&mut raw, command::DMA_UNMAP, dirty_pages), unsupported);
    // The connection is still in step, and takes commands that want no reply.
    let header = Header { id: 9, command: 77, flags: NO_REPLY, ..Header::default() };
    raw.socket.send(header, &[], &[], later()).unwrap();
    let body = access(0, 7, 4);
    let reply = raw.ask(command::REGION_READ, &body);
    assert_eq!((reply.header.command, reply.body.len()), (command::REGION_READ, 20));
}

#[test]
fn files_that_nobody_asked_for_are_closed() {
    let served = Served::new();
    let mut raw = Raw::new(&served);
    let (reader, writer) = std::io::pipe().unwrap();
    let header = Header { command: command::RESET, ..Header::default() };
    let files = [writer.as_fd(); 3];
    raw.socket.send(header, &[], &files, later()).unwrap();
    raw.socket.receive(later()).unwrap();
    drop(writer);
    // The server has closed its copies once it is at the next message.
    raw.ask(command::RESET, &[]);
    let mut reader = reader;
    assert_eq!(std::io::Read::read(&mut reader, &mut [0]).unwrap(), 0);
    assert_eq!(served.device.region_bytes(Region::Bar(0)), 0x2000);
}
