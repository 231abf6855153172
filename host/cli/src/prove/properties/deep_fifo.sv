    localparam p_A = $bits(wptr_q), p_W = $bits(m_data), p_N = p_A + 2;
    localparam p_CAPACITY = (1 << p_A) + 5;
    wire [p_N-1:0] p_used, p_ahead;
    wire p_tracks, p_pick;
    wire [p_W-1:0] p_word;
    groove_stable #(.W(p_W)) stable(cr_clk, cr_rst, m_valid, m_ready, m_data);
    groove_order #(.W(p_W), .N(p_N), .CAPACITY(p_CAPACITY)) order(
        cr_clk, cr_rst, p_pick, s_valid & s_ready, s_data, m_valid & m_ready, m_data,
        p_used, p_tracks, p_ahead, p_word);
    // Four stages lie before the output. What is read ahead may settle one word below the most.
    groove_within #(.CYCLES(3)) delivery(cr_clk, cr_rst, p_used != 0, m_valid);
    groove_within #(.CYCLES(1)) space(cr_clk, cr_rst, p_used < p_CAPACITY - 1, s_ready);
    // The inner FIFO picks the word when it enters there.
    (* hierconn *) wire \ahead.p_pick ;
    (* hierconn *) wire [2:0] \ahead.p_used ;
    assign \ahead.p_pick = p_tracks & p_ahead == \ahead.p_used ;
`ifdef INVARIANTS
    (* hierconn *) wire \ahead.p_tracks , \ahead.o_valid_q ;
    (* hierconn *) wire [2:0] \ahead.p_ahead ;
    (* hierconn *) wire [p_W-1:0] \ahead.p_word ;
    (* hierconn *) wire [p_A-1:0] \mem.p_slot ;
    (* hierconn *) wire [p_W-1:0] \mem.p_word ;
    (* hierconn *) wire [7:0] \delivery.elapsed ;
    wire [7:0] p_latest = m_valid ? 3 : \ahead.p_used != 0 ? 2 : reading_q ? 1 : 0;
    wire [p_A-1:0] p_between = wptr_q - rptr_q;
    wire [p_A:0] p_stored = {full_q, p_between};
    assign \mem.p_slot = rptr_q + p_ahead - \ahead.p_used - reading_q;
    always @(*) begin
        i_elapsed: assert (\delivery.elapsed <= p_latest);
        i_full: assert (!full_q | p_between == 0);
        i_used: assert (p_used == p_stored + reading_q + \ahead.p_used );
        i_room: assert (!reading_q | ahead_s_ready);
        i_enters: assert (reading_q + \ahead.p_used <= 5);
        i_tracks: assert (\ahead.p_tracks == (p_tracks & p_ahead < \ahead.p_used ));
        if (p_tracks) begin
            if (p_ahead < \ahead.p_used ) begin
                i_inner: assert (\ahead.p_ahead == p_ahead & \ahead.p_word == p_word);
            end else if (p_ahead == \ahead.p_used & reading_q) begin
                i_read: assert (mem_rdata == p_word);
            end else i_mem: assert (\mem.p_word == p_word);
        end
    end
`endif
