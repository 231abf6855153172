    // As the mover has it: a burst is issued only where there is room.
    always @(*) assume (!issue | room);
    reg [8:0] p_open;
    initial p_open = 0;
    always @(posedge cr_clk) p_open <= cr_rst ? 0 : p_open + issue - take;
    // The error of a command is that of any of its bursts.
    reg p_failed, p_done, p_error;
    initial p_failed = 0;
    initial p_done = 0;
    always @(posedge cr_clk) begin
        p_done <= take & open_m_data[5] & ~cr_rst;
        p_error <= p_failed | response_error;
        if (cr_rst) p_failed <= 0;
        else if (take) p_failed <= (p_failed | response_error) & ~open_m_data[5];
    end
    always @(*) begin
        room_is_true: assert (room == (p_open != 128));
        no_burst_lost: assert (!issue | open_s_ready);
        done_per_command: assert (done_valid == p_done);
        error_of_any_burst: assert (!done_valid | done_error == p_error);
    end
    always @(posedge cr_clk) begin
        error: cover (done_valid & done_error);
        answered: cover (take & p_open == 3);
    end
`ifdef INVARIANTS
    (* hierconn *) wire [7:0] \open.p_used ;
    always @(*) begin
        i_at_most_128: assert (p_open <= 128);
        i_count: assert (count_q == p_open & \open.p_used == p_open);
        i_failed: assert (failed_q == p_failed);
    end
`endif
