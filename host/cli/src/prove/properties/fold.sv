    // RFC 1071: the sum modulo 2^16 - 1, where 0 is kept for the sum that is 0.
    wire [23:0] p_quotient = sum[23:16];
    always @(*) begin
        congruent: assert (sum - folded == p_quotient * 24'd65535
            | sum - folded == (p_quotient + 1) * 24'd65535);
        zero_is_zero: assert ((folded == 0) == (sum == 0));
        carries: cover (sum[23:16] != 0 & folded[15:8] == 0);
    end
