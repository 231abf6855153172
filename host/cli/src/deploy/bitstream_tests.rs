//! Bitstreams that are made up, whole, cut and damaged.

use super::*;
use crate::deploy::tests::bitstream as sample;

fn board(name: &str) -> &'static Board {
    Board::named(name).unwrap()
}

fn text(error: &BitstreamError) -> String {
    format!("{error}; {}", error.help())
}

#[test]
fn both_forms_say_what_they_are_for() {
    let ecp5 = Bitstream::of(&sample::ecp5(0x8111_3043, "LFE5UM5G-85F-8CABGA554", 500)).unwrap();
    assert_eq!((ecp5.lattice, ecp5.idcode), (true, 0x8111_3043));
    assert_eq!(ecp5.part.as_deref(), Some("LFE5UM5G-85F-8CABGA554"));
    ecp5.check(board("ecpix5")).unwrap();
    let artix = Bitstream::of(&sample::xilinx(0x0363_6093, "7a200tsbg484", 500)).unwrap();
    assert_eq!((artix.lattice, artix.idcode), (false, 0x0363_6093));
    artix.check(board("nexys-video")).unwrap();
    assert_eq!(artix.sha256.len(), 64);
    let alveo = sample::xilinx(0x14b3_7093, "xcu200-fsgd2104-2-e", 500);
    Bitstream::of(&alveo).unwrap().check(board("au200")).unwrap();
}

#[test]
fn a_bitstream_of_another_board_is_refused() {
    let refused = |bytes: Vec<u8>, name| {
        let error = Bitstream::of(&bytes).unwrap().check(board(name)).unwrap_err();
        text(&error)
    };
    let ecp5 = |idcode, part| sample::ecp5(idcode, part, 100);
    let other = refused(ecp5(0x8111_3043, "LFE5UM5G-85F-8CABGA554"), "ax7203");
    assert!(other.starts_with("it is a bitstream for Lattice ECP5, and ax7203"), "{other}");
    let other = refused(ecp5(0x4111_3043, "LFE5U-85F-6CABGA554"), "ecpix5");
    assert!(other.starts_with("it is for a chip with IDCODE 0x41113043, and ecpix5"), "{other}");
    // The same chip with other pins.
    let other = refused(ecp5(0x8111_3043, "LFE5UM5G-85F-8CABGA381"), "ecpix5");
    assert!(other.contains("ecpix5 has LFE5UM5G-85F-CABGA554: its pins are others"), "{other}");
    let other = refused(sample::xilinx(0x0363_6093, "7a200tsbg484", 100), "ax7203");
    assert!(other.starts_with("it is for 7a200tsbg484, and ax7203"), "{other}");
    let other = refused(sample::xilinx(0x0363_1093, "7a100tfgg484", 100), "ax7203");
    assert!(other.contains("IDCODE 0x03631093") && other.ends_with("--board"), "{other}");
}

#[test]
fn parts_are_one_however_they_are_written() {
    for (name, on) in [
        ("7a200tfbg484", "ax7203"),
        ("xc7a200tfbg484-2", "ax7203"),
        ("XC7A200T-FBG484-2", "acorn-cle215"),
        ("LFE5U-85F-6CABGA381", "ulx3s"),
        ("LFE5U-85F-6BG381C", "ulx3s"),
        ("xcvu9p-fsgd2104-2L-e", "vcu1525"),
    ] {
        assert!(is_part(name, board(on)), "{name} on {on}");
    }
    for (name, on) in [("7a200tfbg676", "ax7203"), ("LFE5U-85F", "ulx3s"), ("", "au50")] {
        assert!(!is_part(name, board(on)), "{name} on {on}");
    }
}

#[test]
fn other_files_are_named() {
    for (bytes, what) in [
        (&b""[..], "an empty file"),
        (b"\x7fELF\x02\x01", "a program"),
        (b"\x1f\x8b\x08\x00", "an archive"),
        (b"LSCC\xff\x00", "Radiant"),
        (b":020000040000FA\n", ".mcs"),
        (b"module top;\nendmodule\n", "a text"),
        (b"\xff\xff\xff\xff\xaa\x99\x55\x66", ".bin"),
        (b"\x80\x81\x82", "something else"),
    ] {
        let error = Bitstream::of(bytes).unwrap_err();
        assert!(matches!(error, BitstreamError::Foreign(_)), "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
    let mut encrypted = sample::ecp5(0x8111_3043, "x", 9);
    let at = encrypted.windows(2).position(|pair| pair == ECP5_PREAMBLE).unwrap();
    encrypted[at] = 0xbf;
    assert!(matches!(Bitstream::of(&encrypted), Err(BitstreamError::Encrypted)));
}

#[test]
fn every_cut_is_found() {
    let ecp5 = sample::ecp5(0x8111_3043, "LFE5UM5G-85F-8CABGA554", 300);
    // The padding behind the last command may be missing.
    let end = ecp5.iter().rposition(|byte| *byte != 0xff).unwrap() + 1;
    let xilinx = sample::xilinx(0x0363_6093, "7a200tsbg484", 300);
    for (whole, end) in [(&ecp5, end), (&xilinx, xilinx.len())] {
        assert!(Bitstream::of(&whole[..end]).is_ok());
        for length in XILINX_MAGIC.len()..end {
            let error = Bitstream::of(&whole[..length]).unwrap_err();
            assert!(matches!(error, BitstreamError::Cut(_)), "{length}: {error}");
        }
        for length in 0..XILINX_MAGIC.len() {
            assert!(Bitstream::of(&whole[..length]).is_err());
        }
    }
    let mut longer = xilinx;
    longer.push(0);
    let error = Bitstream::of(&longer).unwrap_err();
    assert_eq!(error.to_string(), "it is damaged: 1 bytes follow its end");
}

#[test]
fn damaged_bytes_are_no_panic() {
    let ecp5 = sample::ecp5(0x8111_3043, "LFE5UM5G-85F-8CABGA554", 60);
    let xilinx = sample::xilinx(0x0363_6093, "7a200tsbg484", 60);
    let mut taken = 0;
    for whole in [ecp5, xilinx] {
        for at in 0..whole.len() {
            for value in [0, 0x5e, 0x80, 0xe2, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = value;
                let parsed = Bitstream::of(&bytes);
                taken += usize::from(parsed.is_ok_and(|b| b.check(board("ax7203")).is_ok()));
            }
        }
    }
    assert!(taken < 1, "the package is another one: {taken}");
}

#[test]
fn what_cannot_be_read_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let error = read(&dir.path().join("none")).unwrap_err();
    assert!(matches!(error, BitstreamError::Read { .. }), "{error}");
    let error = read(dir.path()).unwrap_err();
    assert!(error.to_string().contains("a directory"), "{error}");
}
