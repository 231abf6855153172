    // A beat or token is judged in the cycle in which it fires; what is written is what the FIFO
    // takes. `p_accounts` counts the entries that end the frame at work, in FIFO or drop log.
    // A token may take the place of a frame whose first beat it meets: that frame is refused.
    wire p_token = arrival_info[8], p_displaced = p_token & arrival_info[16];
    wire p_written = fifo_s_valid & fifo_s_ready;
    wire p_frame_fires = fire & (~p_token | p_displaced);
    wire p_frame_ends = p_frame_fires & arrival_tail;
    wire p_refused = p_frame_fires & refuse;
    wire p_account = p_refused | (p_written & ~p_token & fifo_s_info[7]);
    wire p_overflow = p_refused | (p_written & ~p_token & fifo_s_info[7] & fifo_s_info[16]
        & fifo_s_info[19:17] == because_overflow);
    reg [1:0] p_accounts;
    reg [31:0] p_frames, p_overflows;
    reg p_logged;
    reg [31:0] p_number;
    initial p_accounts = 0;
    initial p_frames = 0;
    initial p_overflows = 0;
    initial p_logged = 0;
    always @(posedge cr_clk) begin
        if (cr_rst) begin
            p_accounts <= 0;
            p_frames <= 0;
            p_overflows <= 0;
            p_logged <= 0;
        end else begin
            p_accounts <= p_frame_ends ? 0 : p_accounts + p_account;
            p_frames <= p_frames + p_frame_ends;
            p_overflows <= p_overflows + p_overflow;
            p_logged <= p_refused;
        end
        p_number <= p_frames;
    end
    always @(*) begin
        // A frame admitted is a frame accounted: once when it ends, and never twice.
        frame_accounted: assert (!p_frame_ends | p_accounts + p_account == 1);
        never_twice: assert (p_accounts + p_account <= 1);
        beat_kept: assert (!(a_valid_q & ~fire) | ~(take | take_token));
        // The two come together only where the wire does not wait, and the token waited long.
        one_at_a_time: assert (!(take & take_token) | (!LOSSLESS & patience_over & ~in_frame_q));
        tokens_between_frames: assert (!(a_valid_q & p_token) | (state_q == IngressState_Idle));
        token_kept: assert (!(fire & p_token) | p_written);
        passed_beat_kept: assert (!(p_frame_fires & state_q == IngressState_Pass) | p_written);
        numbered: assert (!p_written | fifo_s_info[51:20] == p_frames);
        overflows_counted: assert (drop_overflow == p_overflows);
        refusal_logged: assert (drop_in_valid == p_logged & (!p_logged | drop_in_frame == p_number));
    end
    always @(posedge cr_clk) begin
        good: cover (p_frame_ends & p_written & ~fifo_s_info[16]);
        cut_short: cover (p_frame_ends & p_accounts == 1);
        token: cover (fire & p_token & p_frames == 1);
        token_displaces: cover (LOSSLESS | (fire & p_displaced & ~arrival_tail));
    end
`ifdef INVARIANTS
    (* hierconn *) wire \fifo.info.full_q ;
    always @(*) begin
        i_state: assert (state_q != 3);
        i_swallow: assert (p_accounts == (state_q == IngressState_Swallow));
        // In a frame there is always room for the beat that ends it.
        i_room: assert (LOSSLESS | state_q != IngressState_Pass | ~\fifo.info.full_q );
        i_token_room: assert (LOSSLESS | !(a_valid_q & p_token) | ~\fifo.info.full_q );
        i_inside: assert (!a_valid_q | (p_token & !p_displaced) | (in_frame_q == ~arrival_tail));
        i_tail: assert (!a_valid_q | p_token | (arrival_tail == arrival_info[7]));
        i_displaced: assert (!(a_valid_q & p_displaced) | !LOSSLESS);
        i_between: assert (a_valid_q | (in_frame_q == (state_q != IngressState_Idle)));
        i_token: assert (!(a_valid_q & p_token) | (arrival_info[7] & (p_displaced | ~in_frame_q)));
        i_number: assert (number_q == p_frames);
    end
`endif
