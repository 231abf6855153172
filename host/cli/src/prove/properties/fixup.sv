    // What is not corrected passes as it is; the header is another proof's matter.
    wire [7:0] p_used, p_ahead;
    wire p_tracks, p_pick;
    wire [179:0] p_word;
    groove_stable #(.W(180)) stable(cr_clk, cr_rst, m_valid, m_ready, m_meta);
    groove_order #(.W(180), .N(8), .CAPACITY(2)) order(
        cr_clk, cr_rst, p_pick, s_valid & s_ready, s_meta, m_valid & m_ready, m_meta,
        p_used, p_tracks, p_ahead, p_word);
    groove_within #(.CYCLES(1)) delivery(cr_clk, cr_rst, p_used != 0, m_valid);
    groove_within #(.CYCLES(0)) space(cr_clk, cr_rst, p_used != 2 | m_ready, s_ready);
`ifdef INVARIANTS
    (* hierconn *) wire [7:0] \delivery.elapsed ;
    always @(*) begin
        i_used: assert (p_used == waits_q + out_valid_q);
        i_word: assert (!p_tracks | p_word == (out_valid_q & p_ahead == 0 ? out_meta_q : meta_q));
        i_elapsed: assert (\delivery.elapsed <= m_valid);
    end
`endif
