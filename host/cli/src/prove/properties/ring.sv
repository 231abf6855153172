    // The stage around it reads, makes and steps, in this order, for one queue at a time, which is
    // not started meanwhile. `p_of` is any queue.
    (* anyconst *) reg [4:0] p_of;
    reg [1:0] p_phase;
    reg [4:0] p_queue;
    reg [31:0] p_count;
    reg [31:0] p_at;
    reg p_had;
    reg [3:0] p_size;
    reg [15:0] p_slot;
    reg p_generation;
    wire p_starts = start_valid & start_queue == p_of;
    initial p_phase = 0;
    initial p_count = 0;
    initial p_had = 0;
    always @(*) begin
        assume (!read | p_phase == 0);
        assume (make == (p_phase == 1));
        assume (!step | p_phase == 2);
        assume (p_phase == 0 | queue == p_queue);
        assume (p_phase == 0 & !read | !(start_valid & start_queue == queue));
    end
    wire p_mine = p_phase == 2 & queue == p_of;
    wire [15:0] p_entries = 16'b1 << size_now_q;
    always @(posedge cr_clk) begin
        if (cr_rst) p_phase <= 0;
        else if (read) p_phase <= 1;
        else if (make) p_phase <= 2;
        else if (step) p_phase <= 0;
        if (read) p_queue <= queue;
        if (read & queue == p_of) p_at <= p_count;
        if (cr_rst | p_starts) begin
            p_count <= 0;
            p_had <= 0;
        end else if (step & queue == p_of) begin
            p_count <= p_count + 1;
            p_had <= 1;
            p_size <= size_now_q;
            p_slot <= slot_q;
            p_generation <= generation;
        end
    end
    always @(*) begin
        inside: assert (!p_mine | slot_q < p_entries);
        address_of_slot: assert (!p_mine | address == {high_now_q, low_now_q} + slot_q * 64'd32);
        starts_at_0: assert (!(p_mine & !p_had) | (slot_q == 0 & generation));
        next_slot: assert (!(p_mine & p_had & p_size == size_now_q)
            | slot_q == ((p_slot + 1) & (p_entries - 1)));
        generation_toggles_at_0: assert (!(p_mine & p_had & p_size == size_now_q)
            | generation == (p_generation ^ (slot_q == 0)));
    end
    always @(posedge cr_clk) begin
        second_pass: cover (p_mine & !generation);
        third_pass: cover (p_mine & generation & p_count == 2 & size_now_q == 0);
    end
`ifdef INVARIANTS
    (* hierconn *) wire [31:0] \indices.fresh_q ;
    (* hierconn *) wire [4:0] \indices.counts.p_slot ;
    (* hierconn *) wire [15:0] \indices.counts.p_word ;
    assign \indices.counts.p_slot = p_of;
    wire [15:0] p_index = \indices.fresh_q [p_of] ? 0 : \indices.counts.p_word ;
    wire [15:0] p_last_entries = 16'b1 << p_size, p_last = p_count[15:0] - 1;
    always @(*) begin
        i_phase: assert (p_phase != 3);
        i_count: assert (p_index == p_count[15:0] & (p_had | p_count == 0));
        i_at: assert (p_phase == 0 | queue != p_of | (p_at == p_count & index_now_q == p_at[15:0]));
        i_slot: assert (!p_mine | slot_q == (index_now_q & (p_entries - 1)));
        i_generation: assert (!p_mine | generation == ((index_now_q & p_entries) == 0));
        i_last: assert (!p_had | (p_slot == (p_last & (p_last_entries - 1))
            & p_generation == ((p_last & p_last_entries) == 0)));
    end
`endif
