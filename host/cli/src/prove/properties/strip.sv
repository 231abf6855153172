    // The control word stays through its frame, which is as long as it says; headers end between
    // two words of 4 bytes. Short ones: in so few cycles no other frame ends.
    wire p_discard = control_control[0];
    wire [7:0] p_header = control_control[8:1];
    wire [15:0] p_payload = control_control[24:9];
    wire p_in = s_valid & s_ready, p_last = s_info[7], p_out = m_tvalid & m_tready;
    wire p_carries = !p_discard & p_payload != 0;
    reg [15:0] p_beat;
    reg p_waits, p_inside;
    reg [24:0] p_control;
    initial p_beat = 0;
    initial p_waits = 0;
    initial p_inside = 0;
    always @(posedge cr_clk) begin
        p_beat <= cr_rst | (p_in & p_last) ? 0 : p_beat + p_in;
        p_waits <= control_valid & ~control_ready & ~cr_rst;
        p_inside <= cr_rst ? 0 : p_in ? !p_last : p_inside;
        p_control <= control_control;
    end
    always @(*) begin
        assume (p_header[1:0] == 2 & p_header >= 14);
        assume (!p_waits | (control_valid & control_control == p_control));
        assume (p_header <= 22 & p_payload <= 16 & p_byte_at < 16);
        assume (!(s_valid & p_last) | !p_carries | (p_beat + 1) * 8 >= p_header + p_payload);
    end
    // Any byte of the payload of any frame that has some.
    (* anyconst *) reg [15:0] p_byte_at;
    (* anyseq *) wire p_pick;
    wire p_begins = p_in & !p_inside & p_carries, p_ends = p_out & m_tlast;
    wire p_picks = p_begins & p_pick & !p_tracks & p_byte_at < p_payload;
    wire [15:0] p_at = p_header + p_byte_at;
    reg [7:0] p_open, p_ahead;
    reg p_tracks, p_reads, p_have;
    reg [15:0] p_length, p_done;
    reg [7:0] p_byte;
    initial p_open = 0;
    initial p_tracks = 0;
    initial p_reads = 0;
    wire p_here = p_in & (p_picks | p_reads) & p_beat == p_at >> 3;
    always @(posedge cr_clk) begin
        p_open <= cr_rst ? 0 : p_open + p_begins - p_ends;
        if (p_picks) begin
            p_ahead <= p_open - p_ends;
            p_length <= p_payload;
            p_done <= 0;
        end else if (p_tracks) begin
            p_ahead <= p_ahead - (p_ends & p_ahead != 0);
            p_done <= p_done + (p_out & p_ahead == 0 ? 8 : 0);
        end
        p_tracks <= !cr_rst & (p_picks | (p_tracks & !(p_ends & p_ahead == 0)));
        p_reads <= !cr_rst & p_in & !p_last ? p_picks | p_reads : !cr_rst & !p_in & p_reads;
        if (p_here) p_byte <= s_data[8 * p_at[2:0] +: 8];
        p_have <= p_here | (p_have & !p_picks);
    end
    wire p_mine = p_tracks & p_out & p_ahead == 0;
    wire [15:0] p_rest = p_length - p_done;
    wire [15:0] p_lane = p_byte_at - p_done;
    groove_stable #(.W(73)) stable(cr_clk, cr_rst, m_tvalid, m_tready, {m_tlast, m_tkeep, m_tdata});
    always @(*) begin
        byte_in_place: assert (!(p_mine & p_byte_at >= p_done & p_lane < 8)
            | (p_have & m_tkeep[p_lane[2:0]] & m_tdata[8 * p_lane[2:0] +: 8] == p_byte));
        exact_length: assert (!p_mine | (m_tlast == (p_rest <= 8)
            & m_tkeep == (p_rest >= 8 ? 8'hff : 8'hff >> (8 - p_rest))));
        nothing_more: assert (!p_out | p_open != 0);
    end
    always @(posedge cr_clk) begin
        across_beats: cover (p_mine & p_done == 8 & m_tlast & p_header == 14);
        second_frame: cover (p_mine & m_tlast & p_beat != 0);
        discarded: cover (p_in & p_last & p_discard);
    end
