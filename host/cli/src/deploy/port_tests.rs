//! Configuration spaces that are made up, and damaged.

use super::*;
use crate::pci::Kernel;
use std::time::Duration;

/// A file that takes what it is given.
struct Plain;

impl Kernel for Plain {
    fn write(&mut self, _path: &std::path::Path, _text: &str) -> io::Result<()> {
        Ok(())
    }
}

impl Hardware for Plain {
    fn poke(&mut self, path: &std::path::Path, offset: u16, bytes: &[u8]) -> io::Result<()> {
        std::fs::OpenOptions::new().write(true).open(path)?.write_all_at(bytes, offset.into())
    }
    fn program(
        &mut self,
        _programmer: &super::super::Programmer,
        _file: &std::path::Path,
        _stop: &dyn Fn() -> bool,
    ) -> Result<(), super::super::ProgrammerError> {
        Ok(())
    }
    fn test(&mut self, _bdf: Bdf) -> Result<super::super::SelfTest, super::super::TestError> {
        Ok(super::super::SelfTest::default())
    }
    fn sleep(&mut self, _time: Duration) {}
}

fn port(config: &[u8]) -> (tempfile::TempDir, Port) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config");
    std::fs::write(&path, config).unwrap();
    (dir, Port { bdf: "0000:3a:00.0".parse().unwrap(), path })
}

/// A port with an express capability at 0x40 and AER at 0x100.
fn config() -> Vec<u8> {
    let mut config = vec![0; 4096];
    config[0x04..0x08].copy_from_slice(&[0x47, 0x05, 0x10, 0x00]);
    config[0x0e] = 1;
    config[0x34] = 0x40;
    config[0x3e] = 0x02;
    config[0x40..0x44].copy_from_slice(&[0x10, 0x00, 0x42, 0x00]);
    config[0x48] = 0x2f;
    config[0x100..0x104].copy_from_slice(&[0x01, 0x00, 0x01, 0x00]);
    config[0x12c] = 7;
    config
}

#[test]
fn masks_are_put_back() {
    let (_dir, port) = port(&config());
    let saved = port.saved().unwrap();
    let names: Vec<_> = saved.iter().map(|saved| saved.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "Command",
            "Bridge Control",
            "Device Control",
            "Uncorrectable Error Mask",
            "Root Error Command"
        ]
    );
    port.mask(&mut Plain, &saved).unwrap();
    let masked = std::fs::read(&port.path).unwrap();
    assert_eq!((masked[0x05], masked[0x3e], masked[0x48], masked[0x108]), (0x04, 0, 0x20, 0x20));
    assert_eq!(masked[0x12c], 0);
    // Somebody switches something else on meanwhile.
    port.write(&mut Plain, 0x48, 2, 0x1020).unwrap();
    port.put_back(&mut Plain, &saved).unwrap();
    let mut expected = config();
    expected[0x49] = 0x10;
    assert_eq!(std::fs::read(&port.path).unwrap(), expected);
}

#[test]
fn a_port_that_says_little_is_masked_as_far_as_it_goes() {
    // PCI: no capabilities at all.
    let mut plain = config();
    plain[0x06] = 0;
    let (_dir, plain) = port(&plain);
    assert_eq!(plain.saved().unwrap().len(), 2);
    assert_eq!(plain.link_is_up().unwrap(), None);
    plain.retrain(&mut Plain).unwrap();
    // A kernel that shows 256 bytes: no extended capabilities.
    let (_dir, short) = port(&config()[..256]);
    assert_eq!(short.saved().unwrap().len(), 3);
    // A user may read 64.
    let (_dir, user) = port(&config()[..64]);
    let error = user.saved().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn circles_end() {
    let mut circle = config();
    circle[0x40] = 0x01;
    circle[0x41] = 0x40;
    circle[0x100] = 0x02;
    circle[0x102..0x104].copy_from_slice(&[0x01, 0x10]);
    let (_dir, circle) = port(&circle);
    assert_eq!(circle.capability(ID_EXPRESS).unwrap(), None);
    assert_eq!(circle.extended(ID_AER).unwrap(), None);
    // A card that is gone: all ones.
    let (_dir, ones) = port(&[0xff; 4096]);
    assert_eq!(ones.extended(ID_AER).unwrap(), None);
    assert!(ones.saved().is_ok());
}

#[test]
fn links_are_read_and_trained() {
    let mut down = config();
    down[0x4e] = 0x10;
    let (_dir, port) = port(&down);
    assert_eq!(port.link_is_up().unwrap(), Some(false));
    port.retrain(&mut Plain).unwrap();
    let mut trained = std::fs::read(&port.path).unwrap();
    assert_eq!(trained[0x50], 0x20);
    trained[0x53] = 0x20;
    std::fs::write(&port.path, trained).unwrap();
    assert_eq!(port.link_is_up().unwrap(), Some(true));
}
