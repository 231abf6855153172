    // RFC 1624: the sum loses the old length and gains the new one, modulo 2^16 - 1, and is 0 only
    // if all terms are; fields lie in the header with their first byte lowest.
    wire [15:0] p_new = {length[7:0], length[15:8]}, p_not_csum = ~old_csum, p_not_old = ~old_length;
    wire [17:0] p_total = p_not_csum + p_not_old + p_new, p_sum = 16'hffff ^ csum_field;
    wire [17:0] p_pseudo = addr_sum + tcp_length, p_tcp = {tcp_field[7:0], tcp_field[15:8]};
    always @(*) begin
        length_by_position: assert (length_field == p_new);
        csum_congruent: assert (p_total - p_sum == 0 | p_total - p_sum == 18'd65535
            | p_total - p_sum == 18'd131070);
        csum_zero_is_zero: assert ((p_sum == 0) == (p_total == 0));
        tcp_congruent: assert (p_pseudo - p_tcp == 0 | p_pseudo - p_tcp == 18'd65535);
        tcp_zero_is_zero: assert ((p_tcp == 0) == (p_pseudo == 0));
        two_carries: cover (p_total - p_sum == 18'd131070);
    end
