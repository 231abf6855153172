    // Beats of good frames come out in order, once; those of dropped frames never. A beat may be
    // picked on its way in; if its frame is dropped, it is forgotten. `p_used` counts beats between
    // input and output, `p_open` those of the frame that is being written.
    localparam p_W = $bits(m_data) + 8;
    wire p_put = s_valid & s_ready, p_get = m_valid & m_ready;
    wire p_ends = p_put & s_info[7], p_drops = p_ends & s_info[16];
    wire [p_W-1:0] p_in = {s_info[7:0], s_data}, p_out = {m_info[7:0], m_data};
    wire p_pick;
    reg [12:0] p_used, p_open, p_ahead;
    reg p_tracks, p_is_open;
    reg [p_W-1:0] p_word;
    initial p_used = 0;
    initial p_open = 0;
    initial p_tracks = 0;
    initial p_is_open = 0;
    groove_stable #(.W(p_W)) stable(cr_clk, cr_rst, m_valid, m_ready, p_out);
    wire p_forgets = p_tracks & p_is_open & p_drops;
    wire p_leaves = p_tracks & p_get & p_ahead == 0;
    always @(posedge cr_clk) begin
        if (cr_rst) begin
            p_used <= 0;
            p_open <= 0;
            p_tracks <= 0;
            p_is_open <= 0;
        end else begin
            p_used <= p_used + p_put - p_get - (p_drops ? p_open + 1 : 0);
            p_open <= p_ends ? 0 : p_open + p_put;
            if (p_tracks) begin
                p_ahead <= p_ahead - p_get;
                p_is_open <= p_is_open & ~p_ends;
                p_tracks <= ~p_forgets & ~p_leaves;
            end else if (p_put & p_pick & ~p_drops) begin
                p_tracks <= 1;
                p_is_open <= ~p_ends;
                p_ahead <= p_used - p_get;
                p_word <= p_in;
            end
        end
    end
    groove_within #(.CYCLES(1)) delivery(cr_clk, cr_rst, p_used != p_open, m_valid);
    groove_within #(.CYCLES(1)) space(cr_clk, cr_rst, p_used - m_valid < LIMIT, s_ready);
    always @(*) begin
        in_order: assert (!p_leaves | p_out == p_word);
        only_whole_frames: assert (!p_get | p_used != p_open);
        dropped_stays_inside: assert (!(p_leaves & p_is_open));
        bounded: assert (p_used <= LIMIT + 2);
    end
    always @(posedge cr_clk) begin
        passed: cover (p_leaves);
        forgotten: cover (p_forgets & p_used == 4 & p_open == 1);
    end
`ifdef INVARIANTS
    (* hierconn *) wire [12:0] \data.p_slot , \info.p_slot ;
    (* hierconn *) wire [$bits(m_data)-1:0] \data.p_word ;
    (* hierconn *) wire [7:0] \info.p_word ;
    (* hierconn *) wire [7:0] \delivery.elapsed , \space.elapsed ;
    wire [12:0] p_slot = rptr_q + p_ahead - holds_q;
    assign \data.p_slot = p_slot;
    assign \info.p_slot = p_slot;
    wire [12:0] p_written = wptr_q - rptr_q, p_ready = committed_q - rptr_q;
    always @(*) begin
        i_used: assert (p_used == p_written + holds_q & p_written <= LIMIT + 1);
        i_space: assert (\space.elapsed <= room_q);
        i_full: assert (p_written <= LIMIT | !room_q);
        i_open: assert (p_open == wptr_q - committed_q & p_open <= p_written);
        i_ready: assert (p_ready <= p_written);
        i_delivery: assert (\delivery.elapsed <= m_valid);
        i_ahead: assert (!p_tracks | p_ahead < p_used);
        i_is_open: assert (!p_tracks | (p_is_open == (p_ahead >= p_used - p_open)));
        if (p_tracks) begin
            if (holds_q & p_ahead == 0) i_out: assert (p_out == p_word);
            else i_mem: assert ({\info.p_word , \data.p_word } == p_word);
        end
    end
`endif
