    localparam p_A = $bits(wptr_q), p_W = $bits(m_data), p_N = p_A + 1;
    localparam p_CAPACITY = (1 << p_A) + 1;
    wire [p_N-1:0] p_used, p_ahead;
    wire p_tracks, p_pick;
    wire [p_W-1:0] p_word;
    groove_stable #(.W(p_W)) stable(cr_clk, cr_rst, m_valid, m_ready, m_data);
    groove_order #(.W(p_W), .N(p_N), .CAPACITY(p_CAPACITY)) order(
        cr_clk, cr_rst, p_pick, s_valid & s_ready, s_data, m_valid & m_ready, m_data,
        p_used, p_tracks, p_ahead, p_word);
    // Nothing is lost: a word inside comes out in the next cycle, and room shows in the next one.
    groove_within #(.CYCLES(1)) delivery(cr_clk, cr_rst, p_used != 0, m_valid);
    groove_within #(.CYCLES(1)) space(cr_clk, cr_rst, p_used != p_CAPACITY, s_ready);
    always @(*) begin
        almost_true: assert (almost == (p_used - m_valid >= (1 << p_A) - 1));
        half_true: assert (half == (p_used - m_valid >= (1 << (p_A - 1))));
    end
`ifdef INVARIANTS
    (* hierconn *) wire [p_A-1:0] \mem.p_slot ;
    (* hierconn *) wire [p_W-1:0] \mem.p_word ;
    assign \mem.p_slot = rptr_q + p_ahead - o_valid_q;
    always @(*) begin
        i_full: assert (!full_q | used == 0);
        i_fed: assert (o_valid_q | (!full_q & used <= 1));
        i_used: assert (p_used == {full_q, used} + o_valid_q);
        if (p_tracks) begin
            if (o_valid_q & p_ahead == 0) i_out: assert (o_data_q == p_word);
            else i_mem: assert (\mem.p_word == p_word);
        end
    end
`endif
