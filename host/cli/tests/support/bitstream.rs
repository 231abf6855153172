//! Bitstreams of the form that vendors' tools write, whose configuration is noise: for tests that
//! load nothing onto a chip.

/// Bytes without order, none of which looks like an end.
fn noise(bytes: usize) -> impl Iterator<Item = u8> {
    let mut state = 0x2545_f491_u32;
    (0..bytes).map(move |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 24) as u8 | 1
    })
}

/// As ecppack writes it.
pub fn ecp5(idcode: u32, part: &str, bytes: usize) -> Vec<u8> {
    let mut file = vec![0xff, 0x00];
    file.extend(format!("Part: {part}\0").bytes());
    file.extend([0xff, 0xff, 0xff, 0xbd, 0xb3, 0xff, 0xff, 0xff, 0xff]);
    file.extend([0x3b, 0, 0, 0, 0xe2, 0, 0, 0]);
    file.extend(idcode.to_be_bytes());
    file.extend([0x22, 0, 0, 0, 0x40, 0, 0, 0, 0x46, 0, 0, 0]);
    // LSC_PROG_INCR_RTI and its frames.
    file.extend([0x82, 0x91, 0, 0]);
    file.extend(noise(bytes));
    file.extend([0x5e, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    file
}

/// As Vivado writes it.
pub fn xilinx(idcode: u32, part: &str, bytes: usize) -> Vec<u8> {
    let mut data = vec![0xff; 32];
    data.extend([0, 0, 0, 0xbb, 0x11, 0x22, 0, 0x44]);
    data.extend([0xff; 8]);
    data.extend([0xaa, 0x99, 0x55, 0x66]);
    let write = |register: u32, words: u32| (0x3000_0000 | register << 13 | words).to_be_bytes();
    data.extend(0x2000_0000_u32.to_be_bytes());
    // CMD: RCRC, then IDCODE, then the frames.
    data.extend([write(4, 1), 7_u32.to_be_bytes(), write(12, 1), idcode.to_be_bytes()].concat());
    data.extend(write(2, 0));
    data.extend((0x5000_0000 | (bytes / 4) as u32).to_be_bytes());
    data.extend(noise(bytes / 4 * 4));
    let mut file = vec![0, 9, 0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0, 0x0f, 0xf0, 0, 0, 1];
    let fields = [(b'a', "groove;UserID=0XFFFFFFFF"), (b'b', part), (b'c', "2026/12/01")];
    for (key, text) in fields.into_iter().chain([(b'd', "00:00:00")]) {
        file.push(key);
        file.extend((text.len() as u16 + 1).to_be_bytes());
        file.extend(text.bytes().chain([0]));
    }
    file.push(b'e');
    file.extend((data.len() as u32).to_be_bytes());
    file.extend(data);
    file
}
