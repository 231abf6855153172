//! Shares the write channels between data and completions, burst by burst.
//!
//!   bursts ──────┬─► arbiter ──►[ register ]──► AW            1 cycle, 1 burst per cycle
//!   completions ─┘      │
//!                 [ FIFO: whose ]
//!                       │
//!   data beats ──┬─► multiplexer ──►[ register ]──► W         1 cycle, 1 beat per cycle
//!   beats ───────┘
//!
//! Completions go first, but not twice while data waits. Invariants: W beats come in the order of
//! their addresses (AXI A5.2.2), AW and W hold still until taken (AXI A3.2.1)
//! (`mover_moves_every_byte`). Not here: responses.

use super::bursts::Burst;
use super::completions::Target;
use super::responses::Open;
use crate::blocks::fifo::Fifo;
use crate::blocks::reg::{ClkRst, RegE, RegR};
use crate::comment;
use rust_hdl::prelude::*;

/// The block.
#[derive(LogicBlock)]
pub struct Issue<const W: usize, const K: usize> {
    /// Clock and reset.
    pub cr: ClkRst,
    /// Next burst of data.
    pub data_burst: Signal<In, Burst>,
    /// `data_burst` is there.
    pub data_valid: Signal<In, Bit>,
    /// Takes it.
    pub data_ready: Signal<Out, Bit>,
    /// One more burst of data may be open.
    pub data_room: Signal<In, Bit>,
    /// Next completion.
    pub completion: Signal<In, Target>,
    /// Its AWLEN.
    pub completion_len: Signal<In, Bits<8>>,
    /// `completion` is there.
    pub completion_valid: Signal<In, Bit>,
    /// Takes it.
    pub completion_ready: Signal<Out, Bit>,
    /// One more completion may be open.
    pub completion_room: Signal<In, Bit>,
    /// What `data_ready` opens.
    pub data_open: Signal<Out, Open>,
    /// What `completion_ready` opens.
    pub completion_open: Signal<Out, Open>,
    /// Beats of data: WDATA.
    pub d_data: Signal<In, Bits<W>>,
    /// WSTRB.
    pub d_strobe: Signal<In, Bits<K>>,
    /// WLAST.
    pub d_last: Signal<In, Bit>,
    /// The beat is there.
    pub d_valid: Signal<In, Bit>,
    /// Takes it.
    pub d_ready: Signal<Out, Bit>,
    /// Beats of completions: WDATA.
    pub c_data: Signal<In, Bits<W>>,
    /// WSTRB.
    pub c_strobe: Signal<In, Bits<K>>,
    /// WLAST.
    pub c_last: Signal<In, Bit>,
    /// The beat is there.
    pub c_valid: Signal<In, Bit>,
    /// Takes it.
    pub c_ready: Signal<Out, Bit>,
    /// AWID: a completion.
    pub aw_is_completion: Signal<Out, Bit>,
    /// AWADDR.
    pub aw_address: Signal<Out, Bits<64>>,
    /// AWLEN.
    pub aw_len: Signal<Out, Bits<8>>,
    /// AWVALID.
    pub aw_valid: Signal<Out, Bit>,
    /// AWREADY.
    pub aw_ready: Signal<In, Bit>,
    /// WDATA.
    pub w_data: Signal<Out, Bits<W>>,
    /// WSTRB.
    pub w_strobe: Signal<Out, Bits<K>>,
    /// WLAST.
    pub w_last: Signal<Out, Bit>,
    /// WVALID.
    pub w_valid: Signal<Out, Bit>,
    /// WREADY.
    pub w_ready: Signal<In, Bit>,
    order: Fifo<Bit, 2>,
    was_completion: RegR<Bit>,
    a_valid: RegR<Bit>,
    a_completion: RegE<Bit>,
    a_address: RegE<Bits<64>>,
    a_len: RegE<Bits<8>>,
    b_valid: RegR<Bit>,
    b_data: RegE<Bits<W>>,
    b_strobe: RegE<Bits<K>>,
    b_last: RegE<Bit>,
    data_can: Signal<Local, Bit>,
    completion_can: Signal<Local, Bit>,
    completion_next: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    go: Signal<Local, Bit>,
    w_free: Signal<Local, Bit>,
    beat_there: Signal<Local, Bit>,
    beat_last: Signal<Local, Bit>,
    opened: Signal<Local, Open>,
    completed: Signal<Local, Open>,
}

impl<const W: usize, const K: usize> Default for Issue<W, K> {
    fn default() -> Self {
        Self {
            cr: Default::default(),
            data_burst: Default::default(),
            data_valid: Default::default(),
            data_ready: Default::default(),
            data_room: Default::default(),
            completion: Default::default(),
            completion_len: Default::default(),
            completion_valid: Default::default(),
            completion_ready: Default::default(),
            completion_room: Default::default(),
            data_open: Default::default(),
            completion_open: Default::default(),
            d_data: Default::default(),
            d_strobe: Default::default(),
            d_last: Default::default(),
            d_valid: Default::default(),
            d_ready: Default::default(),
            c_data: Default::default(),
            c_strobe: Default::default(),
            c_last: Default::default(),
            c_valid: Default::default(),
            c_ready: Default::default(),
            aw_is_completion: Default::default(),
            aw_address: Default::default(),
            aw_len: Default::default(),
            aw_valid: Default::default(),
            aw_ready: Default::default(),
            w_data: Default::default(),
            w_strobe: Default::default(),
            w_last: Default::default(),
            w_valid: Default::default(),
            w_ready: Default::default(),
            order: Default::default(),
            was_completion: Default::default(),
            a_valid: Default::default(),
            a_completion: Default::default(),
            a_address: Default::default(),
            a_len: Default::default(),
            b_valid: Default::default(),
            b_data: Default::default(),
            b_strobe: Default::default(),
            b_last: Default::default(),
            data_can: Default::default(),
            completion_can: Default::default(),
            completion_next: Default::default(),
            free: Default::default(),
            go: Default::default(),
            w_free: Default::default(),
            beat_there: Default::default(),
            beat_last: Default::default(),
            opened: Default::default(),
            completed: Default::default(),
        }
    }
}

impl<const W: usize, const K: usize> Logic for Issue<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        comment!("block: mover_issue");
        ClkRst::link(&mut self.cr, &mut self.order.cr);
        ClkRst::link(&mut self.cr, &mut self.was_completion.cr);
        ClkRst::link(&mut self.cr, &mut self.a_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.a_completion.cr);
        ClkRst::link(&mut self.cr, &mut self.a_address.cr);
        ClkRst::link(&mut self.cr, &mut self.a_len.cr);
        ClkRst::link(&mut self.cr, &mut self.b_valid.cr);
        ClkRst::link(&mut self.cr, &mut self.b_data.cr);
        ClkRst::link(&mut self.cr, &mut self.b_strobe.cr);
        ClkRst::link(&mut self.cr, &mut self.b_last.cr);

        // Whose burst is next.
        self.data_can.next = self.data_valid.val() & self.data_room.val();
        self.completion_can.next = self.completion_valid.val() & self.completion_room.val();
        self.completion_next.next =
            self.completion_can.val() & (!self.was_completion.q.val() | !self.data_can.val());
        self.free.next = (!self.a_valid.q.val() | self.aw_ready.val()) & self.order.s_ready.val();
        self.go.next = self.free.val() & (self.data_can.val() | self.completion_can.val());
        self.data_ready.next = self.free.val() & self.data_can.val() & !self.completion_next.val();
        self.completion_ready.next = self.free.val() & self.completion_next.val();
        self.was_completion.d.next = self.was_completion.q.val();
        if self.go.val() {
            self.was_completion.d.next = self.completion_next.val();
        }
        self.order.s_data.next = self.completion_next.val();
        self.order.s_valid.next = self.go.val();
        self.opened.next.queue = self.data_burst.val().queue;
        self.opened.next.last = self.data_burst.val().last;
        self.data_open.next = self.opened.val();
        self.completed.next.queue = self.completion.val().queue;
        self.completed.next.last = true;
        self.completion_open.next = self.completed.val();

        self.a_valid.d.next = self.go.val() | (self.a_valid.q.val() & !self.aw_ready.val());
        self.a_completion.en.next = self.go.val();
        self.a_address.en.next = self.go.val();
        self.a_len.en.next = self.go.val();
        self.a_completion.d.next = self.completion_next.val();
        self.a_address.d.next = self.data_burst.val().address;
        self.a_len.d.next = self.data_burst.val().len;
        if self.completion_next.val() {
            self.a_address.d.next = self.completion.val().address;
            self.a_len.d.next = self.completion_len.val();
        }
        self.aw_is_completion.next = self.a_completion.q.val();
        self.aw_address.next = self.a_address.q.val();
        self.aw_len.next = self.a_len.q.val();
        self.aw_valid.next = self.a_valid.q.val();

        // Its beats.
        self.w_free.next = !self.b_valid.q.val() | self.w_ready.val();
        self.b_data.d.next = self.d_data.val();
        self.b_strobe.d.next = self.d_strobe.val();
        self.beat_last.next = self.d_last.val();
        self.beat_there.next = self.order.m_valid.val() & self.d_valid.val();
        if self.order.m_data.val() {
            self.b_data.d.next = self.c_data.val();
            self.b_strobe.d.next = self.c_strobe.val();
            self.beat_last.next = self.c_last.val();
            self.beat_there.next = self.order.m_valid.val() & self.c_valid.val();
        }
        self.b_last.d.next = self.beat_last.val();
        self.d_ready.next = self.w_free.val() & self.order.m_valid.val() & !self.order.m_data.val();
        self.c_ready.next = self.w_free.val() & self.order.m_valid.val() & self.order.m_data.val();
        self.order.m_ready.next = self.w_free.val() & self.beat_there.val() & self.beat_last.val();
        self.b_data.en.next = self.w_free.val();
        self.b_strobe.en.next = self.w_free.val();
        self.b_last.en.next = self.w_free.val();
        self.b_valid.d.next = self.beat_there.val() | (self.b_valid.q.val() & !self.w_ready.val());
        self.w_data.next = self.b_data.q.val();
        self.w_strobe.next = self.b_strobe.q.val();
        self.w_last.next = self.b_last.q.val();
        self.w_valid.next = self.b_valid.q.val();
    }
}
