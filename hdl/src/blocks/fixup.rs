//! Corrects the header of a merged session; everything else passes.
//!
//!   Raw ──►[ lengths, old fields ]──► checksums, placement ──►[ output ]──► Op    2 cycles, II 1
//!
//! Follows: kernel `inet_gro_complete`, `ipv6_gro_complete`, `tcp4_gro_complete`,
//! `tcp6_gro_complete` (7.3), `csum_replace2` step by step (`csum16_sub`, `csum16_add`), RFC 1624
//! §3; gro-semantics §2.
//! Invariants: an operation that is not merged keeps its header (`operations_equal_the_model`); FIN
//! and PSH are OR-ed, all else is the first frame's (`operations_equal_the_model`); `m.ready`
//! reaches register enables and `s.ready`, which ends in the emitter's registers.
//! Not here: lengths above 65,535: the merge limit keeps them from happening.

use crate::blocks::bits::Pack;
use crate::blocks::op::{Fix, OpSource, Operation, RawSink};
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// Half words of the header.
const LANES: usize = 64;

/// The new values of the fields that change, each as it lies in the header (first byte lowest).
#[derive(LogicBlock, Default)]
pub struct Checksums {
    /// IPv4 total length or IPv6 payload length.
    pub length: Signal<In, Bits<16>>,
    /// TCP header and payload.
    pub tcp_length: Signal<In, Bits<16>>,
    /// IPv4 total length of the first frame, as it lies.
    pub old_length: Signal<In, Bits<16>>,
    /// IPv4 header checksum of the first frame, as it lies.
    pub old_csum: Signal<In, Bits<16>>,
    /// Sum of addresses and protocol.
    pub addr_sum: Signal<In, Bits<16>>,
    /// As it lies.
    pub length_field: Signal<Out, Bits<16>>,
    /// IPv4 header checksum, as it lies.
    pub csum_field: Signal<Out, Bits<16>>,
    /// TCP checksum field, as it lies.
    pub tcp_field: Signal<Out, Bits<16>>,
    swapped: Signal<Local, Bits<16>>,
    not_csum: Signal<Local, Bits<16>>,
    not_length: Signal<Local, Bits<16>>,
    less: Signal<Local, Bits<17>>,
    less_carry: Signal<Local, Bits<1>>,
    rest: Signal<Local, Bits<16>>,
    more: Signal<Local, Bits<17>>,
    more_carry: Signal<Local, Bits<1>>,
    sum: Signal<Local, Bits<16>>,
    pseudo: Signal<Local, Bits<17>>,
    pseudo_carry: Signal<Local, Bits<1>>,
    folded: Signal<Local, Bits<16>>,
}

impl Logic for Checksums {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: fixup_checksums");
        self.swapped.next = (self.length.val() >> 8) | (self.length.val() << 8);
        self.length_field.next = self.swapped.val();
        // One's complement sums do not mind the order of bytes, if all terms have the same.
        self.not_csum.next = !self.old_csum.val();
        self.not_length.next = !self.old_length.val();
        self.less.next =
            bit_cast::<17, 16>(self.not_csum.val()) + bit_cast::<17, 16>(self.not_length.val());
        self.less_carry.next = self.less.val().get_bits::<1>(16);
        self.rest.next =
            self.less.val().get_bits::<16>(0) + bit_cast::<16, 1>(self.less_carry.val());
        self.more.next =
            bit_cast::<17, 16>(self.rest.val()) + bit_cast::<17, 16>(self.swapped.val());
        self.more_carry.next = self.more.val().get_bits::<1>(16);
        self.sum.next =
            self.more.val().get_bits::<16>(0) + bit_cast::<16, 1>(self.more_carry.val());
        self.csum_field.next = !self.sum.val();
        self.pseudo.next =
            bit_cast::<17, 16>(self.addr_sum.val()) + bit_cast::<17, 16>(self.tcp_length.val());
        self.pseudo_carry.next = self.pseudo.val().get_bits::<1>(16);
        self.folded.next =
            self.pseudo.val().get_bits::<16>(0) + bit_cast::<16, 1>(self.pseudo_carry.val());
        self.tcp_field.next = (self.folded.val() >> 8) | (self.folded.val() << 8);
    }
}

/// Lengths and old fields of a session, in front of the first register.
#[derive(LogicBlock)]
pub struct Lengths {
    /// The operation.
    pub meta: Signal<In, Operation>,
    /// How to correct it.
    pub fix: Signal<In, Fix>,
    /// Its header.
    pub header: Signal<In, Bits<1024>>,
    /// IPv4 total length or IPv6 payload length.
    pub length: Signal<Out, Bits<16>>,
    /// TCP header and payload.
    pub tcp_length: Signal<Out, Bits<16>>,
    /// IPv4 total length of the first frame, as it lies.
    pub old_length: Signal<Out, Bits<16>>,
    /// IPv4 header checksum of the first frame, as it lies.
    pub old_csum: Signal<Out, Bits<16>>,
    l3_field: Signal<Local, Bits<5>>,
    l4_field: Signal<Local, Bits<7>>,
    base: Signal<Local, Bits<8>>,
    hdr_len: Signal<Local, Bits<8>>,
    behind_l3: Signal<Local, Bits<8>>,
    behind_l4: Signal<Local, Bits<8>>,
    payload: Signal<Local, Bits<17>>,
    payload16: Signal<Local, Bits<16>>,
    ipv4: Constant<Bits<2>>,
    ipv6_header: Constant<Bits<8>>,
    tag: [Constant<Bits<5>>; 3],
}

impl Default for Lengths {
    fn default() -> Self {
        Self {
            meta: Default::default(),
            fix: Default::default(),
            header: Default::default(),
            length: Default::default(),
            tcp_length: Default::default(),
            old_length: Default::default(),
            old_csum: Default::default(),
            l3_field: Default::default(),
            l4_field: Default::default(),
            base: Default::default(),
            hdr_len: Default::default(),
            behind_l3: Default::default(),
            behind_l4: Default::default(),
            payload: Default::default(),
            payload16: Default::default(),
            ipv4: Constant::new(1.into()),
            ipv6_header: Constant::new(40.into()),
            tag: [14u64, 18, 22].map(|off| Constant::new(off.into())),
        }
    }
}

impl Logic for Lengths {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: fixup_lengths");
        self.l3_field.next = self.fix.val().l3_off;
        self.l4_field.next = self.fix.val().l4_off;
        self.hdr_len.next = self.meta.val().hdr_len;
        self.base.next = bit_cast::<8, 5>(self.l3_field.val()) + self.ipv6_header.val();
        if self.fix.val().l3_kind == self.ipv4.val() {
            self.base.next = bit_cast::<8, 5>(self.l3_field.val());
        }
        self.behind_l3.next = self.hdr_len.val() - self.base.val();
        self.behind_l4.next = self.hdr_len.val() - bit_cast::<8, 7>(self.l4_field.val());
        self.payload.next = self.meta.val().payload_len;
        self.payload16.next = self.payload.val().get_bits::<16>(0);
        self.length.next = self.payload16.val() + bit_cast::<16, 8>(self.behind_l3.val());
        self.tcp_length.next = self.payload16.val() + bit_cast::<16, 8>(self.behind_l4.val());
        if self.fix.val().l3_off == self.tag[0].val() {
            self.old_length.next = self.header.val().get_bits::<16>(128);
            self.old_csum.next = self.header.val().get_bits::<16>(192);
        } else if self.fix.val().l3_off == self.tag[1].val() {
            self.old_length.next = self.header.val().get_bits::<16>(160);
            self.old_csum.next = self.header.val().get_bits::<16>(224);
        } else if self.fix.val().l3_off == self.tag[2].val() {
            self.old_length.next = self.header.val().get_bits::<16>(192);
            self.old_csum.next = self.header.val().get_bits::<16>(256);
        } else {
            self.old_length.next = self.header.val().get_bits::<16>(224);
            self.old_csum.next = self.header.val().get_bits::<16>(288);
        }
    }
}

/// Puts the new fields into the header.
#[derive(LogicBlock)]
pub struct Placement {
    /// How to correct it.
    pub fix: Signal<In, Fix>,
    /// Header of the first frame.
    pub header: Signal<In, Bits<1024>>,
    /// New value, as it lies.
    pub length_field: Signal<In, Bits<16>>,
    /// New value, as it lies; IPv4 only.
    pub csum_field: Signal<In, Bits<16>>,
    /// New value, as it lies.
    pub tcp_field: Signal<In, Bits<16>>,
    /// Header of the merged frame.
    pub fixed: Signal<Out, Bits<1024>>,
    pack: Pack<16, 64, 1024>,
    lane: Vec<Signal<Local, Bits<16>>>,
    l3_field: Signal<Local, Bits<5>>,
    l4_field: Signal<Local, Bits<7>>,
    l3_off: Signal<Local, Bits<8>>,
    l4_off: Signal<Local, Bits<8>>,
    is_ipv4: Signal<Local, Bit>,
    length_at: Signal<Local, Bits<8>>,
    csum_at: Signal<Local, Bits<8>>,
    flags_at: Signal<Local, Bits<8>>,
    tcp_at: Signal<Local, Bits<8>>,
    flags: Signal<Local, Bits<16>>,
    psh_flag: Signal<Local, Bits<16>>,
    position: Vec<Constant<Bits<8>>>,
    ipv4: Constant<Bits<2>>,
    v4_length: Constant<Bits<8>>,
    v6_length: Constant<Bits<8>>,
    v4_csum: Constant<Bits<8>>,
    tcp_flags: Constant<Bits<8>>,
    tcp_csum: Constant<Bits<8>>,
    fin: Constant<Bits<16>>,
    psh: Constant<Bits<16>>,
    none: Constant<Bits<16>>,
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            fix: Default::default(),
            header: Default::default(),
            length_field: Default::default(),
            csum_field: Default::default(),
            tcp_field: Default::default(),
            fixed: Default::default(),
            pack: Default::default(),
            lane: vec![Default::default(); LANES],
            l3_field: Default::default(),
            l4_field: Default::default(),
            l3_off: Default::default(),
            l4_off: Default::default(),
            is_ipv4: Default::default(),
            length_at: Default::default(),
            csum_at: Default::default(),
            flags_at: Default::default(),
            tcp_at: Default::default(),
            flags: Default::default(),
            psh_flag: Default::default(),
            position: (0..LANES as u64).map(|h| Constant::new((2 * h).into())).collect(),
            ipv4: Constant::new(1.into()),
            v4_length: Constant::new(2.into()),
            v6_length: Constant::new(4.into()),
            v4_csum: Constant::new(10.into()),
            tcp_flags: Constant::new(12.into()),
            tcp_csum: Constant::new(16.into()),
            fin: Constant::new(0x0100.into()),
            psh: Constant::new(0x0800.into()),
            none: Constant::new(0.into()),
        }
    }
}

impl Logic for Placement {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: fixup_placement");
        self.l3_field.next = self.fix.val().l3_off;
        self.l3_off.next = bit_cast::<8, 5>(self.l3_field.val());
        self.l4_field.next = self.fix.val().l4_off;
        self.l4_off.next = bit_cast::<8, 7>(self.l4_field.val());
        self.is_ipv4.next = self.fix.val().l3_kind == self.ipv4.val();
        self.length_at.next = self.l3_off.val() + self.v6_length.val();
        if self.is_ipv4.val() {
            self.length_at.next = self.l3_off.val() + self.v4_length.val();
        }
        self.csum_at.next = self.l3_off.val() + self.v4_csum.val();
        self.flags_at.next = self.l4_off.val() + self.tcp_flags.val();
        self.tcp_at.next = self.l4_off.val() + self.tcp_csum.val();
        self.flags.next = self.none.val();
        if self.fix.val().fin {
            self.flags.next = self.fin.val();
        }
        self.psh_flag.next = self.none.val();
        if self.fix.val().psh {
            self.psh_flag.next = self.psh.val();
        }
        for h in 0..LANES {
            self.lane[h].next = self.header.val().get_bits::<16>(h * 16);
            if self.fix.val().merged {
                if self.position[h].val() == self.length_at.val() {
                    self.lane[h].next = self.length_field.val();
                } else if self.is_ipv4.val() & (self.position[h].val() == self.csum_at.val()) {
                    self.lane[h].next = self.csum_field.val();
                } else if self.position[h].val() == self.flags_at.val() {
                    self.lane[h].next = self.header.val().get_bits::<16>(h * 16)
                        | self.flags.val()
                        | self.psh_flag.val();
                } else if self.position[h].val() == self.tcp_at.val() {
                    self.lane[h].next = self.tcp_field.val();
                }
            }
            self.pack.i[h].next = self.lane[h].val();
        }
        self.fixed.next = self.pack.o.val();
    }
}

/// The fix-up.
#[derive(LogicBlock, Default)]
pub struct Fixup {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Operations as coalesce gives them.
    pub s: RawSink,
    /// Operations with their final header.
    pub m: OpSource,
    waits: RegR<Bit>,
    meta: RegE<Operation>,
    fix: RegE<Fix>,
    header: RegE<Bits<1024>>,
    length: RegE<Bits<16>>,
    tcp_length: RegE<Bits<16>>,
    old_length: RegE<Bits<16>>,
    old_csum: RegE<Bits<16>>,
    out_valid: RegR<Bit>,
    out_meta: RegE<Operation>,
    out_header: RegE<Bits<1024>>,
    lengths: Lengths,
    checksums: Checksums,
    placement: Placement,
    out_moves: Signal<Local, Bit>,
    moves: Signal<Local, Bit>,
    out_takes: Signal<Local, Bit>,
    takes: Signal<Local, Bit>,
}

impl Logic for Fixup {
    #[hdl_gen]
    fn update(&mut self) {
        ClkRst::link(&mut self.cr, &mut self.waits.cr);
        ClkRst::link(&mut self.cr, &mut self.meta.cr);
        ClkRst::link(&mut self.cr, &mut self.fix.cr);
        ClkRst::link(&mut self.cr, &mut self.header.cr);
        ClkRst::link(&mut self.cr, &mut self.length.cr);
        ClkRst::link(&mut self.cr, &mut self.tcp_length.cr);
        ClkRst::link(&mut self.cr, &mut self.old_length.cr);
        ClkRst::link(&mut self.cr, &mut self.old_csum.cr);
        ClkRst::link(&mut self.cr, &mut self.out_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.out_meta.cr);
        ClkRst::link(&mut self.cr, &mut self.out_header.cr);

        self.out_moves.next = !self.out_valid.q.val() | self.m.ready.val();
        self.moves.next = !self.waits.q.val() | self.out_moves.val();
        self.s.ready.next = self.moves.val();
        self.takes.next = self.moves.val() & self.s.valid.val();
        self.waits.d.next = self.s.valid.val() | (self.waits.q.val() & !self.moves.val());
        self.out_takes.next = self.out_moves.val() & self.waits.q.val();
        self.out_valid.d.next =
            self.waits.q.val() | (self.out_valid.q.val() & !self.out_moves.val());

        self.lengths.meta.next = self.s.meta.val();
        self.lengths.fix.next = self.s.fix.val();
        self.lengths.header.next = self.s.header.val();
        self.meta.en.next = self.takes.val();
        self.meta.d.next = self.s.meta.val();
        self.fix.en.next = self.takes.val();
        self.fix.d.next = self.s.fix.val();
        self.header.en.next = self.takes.val();
        self.header.d.next = self.s.header.val();
        self.length.en.next = self.takes.val();
        self.length.d.next = self.lengths.length.val();
        self.tcp_length.en.next = self.takes.val();
        self.tcp_length.d.next = self.lengths.tcp_length.val();
        self.old_length.en.next = self.takes.val();
        self.old_length.d.next = self.lengths.old_length.val();
        self.old_csum.en.next = self.takes.val();
        self.old_csum.d.next = self.lengths.old_csum.val();

        self.checksums.length.next = self.length.q.val();
        self.checksums.tcp_length.next = self.tcp_length.q.val();
        self.checksums.old_length.next = self.old_length.q.val();
        self.checksums.old_csum.next = self.old_csum.q.val();
        self.checksums.addr_sum.next = self.fix.q.val().addr_sum;
        self.placement.fix.next = self.fix.q.val();
        self.placement.header.next = self.header.q.val();
        self.placement.length_field.next = self.checksums.length_field.val();
        self.placement.csum_field.next = self.checksums.csum_field.val();
        self.placement.tcp_field.next = self.checksums.tcp_field.val();
        self.out_meta.en.next = self.out_takes.val();
        self.out_meta.d.next = self.meta.q.val();
        self.out_header.en.next = self.out_takes.val();
        self.out_header.d.next = self.placement.fixed.val();
        self.m.valid.next = self.out_valid.q.val();
        self.m.meta.next = self.out_meta.q.val();
        self.m.header.next = self.out_header.q.val();
    }
}
