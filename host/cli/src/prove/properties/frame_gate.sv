    // What comes in, and where it is in its frame; AXI4-Stream holds an offer still.
    wire p_in = s_tvalid & (s_tready | LOSSY), p_out = m_tvalid & (m_tready | LOSSY);
    reg p_inside, p_begun, p_was_open;
    initial p_inside = 0;
    initial p_begun = 0;
    always @(posedge cr_clk) begin
        if (cr_rst) p_inside <= 0;
        else if (p_in) p_inside <= !s_tlast;
        // The beginning of this frame went through, and the gate was open ever since.
        if (cr_rst) p_begun <= 0;
        else if (p_out) p_begun <= !m_tlast;
        else if (!open) p_begun <= 0;
    end
    always @(*) begin
        shut_passes_nothing: assert (open | !m_tvalid);
        no_rest_without_beginning: assert (!(p_out & p_inside) | p_begun);
        passes_or_swallows: assert (!(p_in & open & !m_tvalid) | p_inside);
        unchanged: assert ({m_tdata, m_tkeep, m_tlast, m_tuser} == {s_tdata, s_tkeep, s_tlast, s_tuser});
    end
    always @(posedge cr_clk) begin
        swallowed: cover (p_in & open & !m_tvalid & s_tlast);
        passed: cover (p_out & p_begun & m_tlast);
    end
`ifdef INVARIANTS
    always @(*) begin
        i_inside: assert (in_frame_q == p_inside);
        i_swallow: assert (!swallow_q | p_inside);
        i_begun: assert (!p_inside | p_begun | swallow_q);
    end
`endif
