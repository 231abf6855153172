    localparam p_A = WORDS_LOG2, p_W = $bits(FIRST_m_data) + $bits(SECOND_m_data), p_N = 8;
    (* hierconn *) wire \FIRST.p_pick , \SECOND.p_pick ;
    wire [p_N-1:0] p_used, p_ahead;
    wire p_tracks, p_pick;
    wire [p_W-1:0] p_word;
    assign \FIRST.p_pick = p_pick;
    assign \SECOND.p_pick = p_pick;
    groove_stable #(.W(p_W)) stable(cr_clk, cr_rst, m_valid, m_ready, {m_LOW, m_HIGH});
    groove_order #(.W(p_W), .N(p_N), .CAPACITY((1 << p_A) + 1)) order(
        cr_clk, cr_rst, p_pick, s_valid & s_ready, {s_LOW, s_HIGH}, m_valid & m_ready,
        {m_LOW, m_HIGH}, p_used, p_tracks, p_ahead, p_word);
    groove_within #(.CYCLES(1)) delivery(cr_clk, cr_rst, p_used != 0, m_valid);
    groove_within #(.CYCLES(1)) space(cr_clk, cr_rst, p_used != (1 << p_A) + 1, s_ready);
`ifdef INVARIANTS
    (* hierconn *) wire \FIRST.p_tracks , \SECOND.p_tracks , \FIRST.full_q , \SECOND.full_q ;
    (* hierconn *) wire \FIRST.o_valid_q , \SECOND.o_valid_q ;
    (* hierconn *) wire [p_A-1:0] \FIRST.wptr_q , \SECOND.wptr_q ;
    (* hierconn *) wire [p_A-1:0] \FIRST.rptr_q , \SECOND.rptr_q ;
    (* hierconn *) wire [p_A:0] \FIRST.p_used , \SECOND.p_used , \FIRST.p_ahead , \SECOND.p_ahead ;
    (* hierconn *) wire [$bits(FIRST_m_data)-1:0] \FIRST.p_word ;
    (* hierconn *) wire [$bits(SECOND_m_data)-1:0] \SECOND.p_word ;
    always @(*) begin
        i_lockstep: assert ({\FIRST.full_q , \FIRST.o_valid_q , \FIRST.wptr_q , \FIRST.rptr_q }
            == {\SECOND.full_q , \SECOND.o_valid_q , \SECOND.wptr_q , \SECOND.rptr_q });
        i_used: assert (\FIRST.p_used == p_used & \SECOND.p_used == p_used);
        i_tracks: assert (\FIRST.p_tracks == p_tracks & \SECOND.p_tracks == p_tracks);
        i_ahead: assert (!p_tracks | (\FIRST.p_ahead == p_ahead & \SECOND.p_ahead == p_ahead));
        i_word: assert (!p_tracks | {\FIRST.p_word , \SECOND.p_word } == p_word);
    end
`endif
