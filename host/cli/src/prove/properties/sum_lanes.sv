    // The end. A 32-bit total is a multiple of 2^16 - 1 when its halves add up to one, since 2^16
    // leaves 1; RFC 1071 calls the sum good when it is one, but not 0.
    wire [16:0] p_rest = accumulator_q[15:0] + accumulator_q[31:16];
    wire p_good = accumulator_q != 0 & (p_rest == 17'd65535 | p_rest == 17'd131070);
    always @(*) good_is_arithmetic: assert (done[GOOD] == p_good);
    // The way there: each word of a beat is in one of eight sums, and the beat's sum is theirs.
    reg [511:0] p_data;
    reg p_first, p_busy;
    reg [15:0] p_init;
    initial p_busy = 0;
    always @(posedge cr_clk) begin
        p_busy <= valid & ~cr_rst;
        if (valid) begin
            p_data <= data;
            p_first <= tag[0];
            p_init <= {tag[9:2], tag[17:10]};
        end
    end
    function [23:0] p_sum_of_four(input [63:0] four);
        p_sum_of_four = ({8'b0, four[15:0]} + {8'b0, four[31:16]})
            + ({8'b0, four[47:32]} + {8'b0, four[63:48]});
    endfunction
    wire p_in_one = z_sum_0_q == p_sum_of_four(p_data[0 +: 64])
        & z_sum_1_q == p_sum_of_four(p_data[64 +: 64])
        & z_sum_2_q == p_sum_of_four(p_data[128 +: 64])
        & z_sum_3_q == p_sum_of_four(p_data[192 +: 64])
        & z_sum_4_q == p_sum_of_four(p_data[256 +: 64])
        & z_sum_5_q == p_sum_of_four(p_data[320 +: 64])
        & z_sum_6_q == p_sum_of_four(p_data[384 +: 64])
        & z_sum_7_q == p_sum_of_four(p_data[448 +: 64]);
    wire [23:0] p_beat = ((z_sum_0_q + z_sum_1_q) + (z_sum_2_q + z_sum_3_q))
        + ((z_sum_4_q + z_sum_5_q) + (z_sum_6_q + z_sum_7_q));
    // No carry is lost in the longest frame: `p_total` has more bits than can be used.
    reg [39:0] p_total;
    reg [8:0] p_beats;
    initial p_total = 0;
    initial p_beats = 0;
    always @(posedge cr_clk) if (p_busy) begin
        p_total <= (p_first ? p_init : p_total) + p_beat;
        p_beats <= p_first ? 1 : p_beats + (p_beats != 511);
    end
    always @(*) begin
        each_word_once: assert (!z_valid_q | p_in_one);
        beat_is_their_sum: assert (beat_sum == p_beat);
        no_carry_lost: assert (p_beats > BEATS | p_total == accumulator_q);
    end
    always @(posedge cr_clk) begin
        good: cover (done_valid & done[GOOD]);
        bad: cover (done_valid & !done[GOOD]);
    end
`ifdef INVARIANTS
    always @(*) begin
        i_valid: assert (z_valid_q == p_busy);
        i_tag: assert (!p_busy | (z_tag_q[0] == p_first & {z_tag_q[9:2], z_tag_q[17:10]} == p_init));
        i_sums: assert (!p_busy | (z_sum_0_q < 2**18 & z_sum_1_q < 2**18 & z_sum_2_q < 2**18
            & z_sum_3_q < 2**18 & z_sum_4_q < 2**18 & z_sum_5_q < 2**18 & z_sum_6_q < 2**18
            & z_sum_7_q < 2**18));
        i_total: assert (p_beats == 511 | p_total < {p_beats + 10'b1, 21'b0});
    end
`endif
