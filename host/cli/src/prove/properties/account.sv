    // A response comes only to a burst that is open, and the two sides of the guard hold at most
    // 256 bursts of each kind between them: the mover 2 x 128 writes, prefetch fewer reads.
    reg [9:0] p_writes, p_reads;
    initial p_writes = 0;
    initial p_reads = 0;
    always @(posedge cr_clk) begin
        p_writes <= cr_rst ? 0 : p_writes + write_begins - write_ends;
        p_reads <= cr_rst ? 0 : p_reads + read_begins - read_ends;
    end
    always @(*) begin
        assume (!write_ends | p_writes != 0 | write_begins);
        assume (!read_ends | p_reads != 0 | read_begins);
        assume (p_writes < 300 | !write_begins);
        assume (p_reads < 300 | !read_begins);
        assume (!busy | (!write_begins & !read_begins));
    end
    reg p_busy, p_idle;
    reg [4:0] p_elapsed;
    initial p_busy = 0;
    initial p_elapsed = 0;
    always @(posedge cr_clk) begin
        p_busy <= busy & ~cr_rst;
        p_idle <= p_writes == 0 & p_reads == 0;
        if (cr_rst | !busy | flr) p_elapsed <= 0;
        else p_elapsed <= p_elapsed + (p_elapsed != 16);
    end
    always @(*) begin
        count_is_exact: assert (writes_q == p_writes & reads_q == p_reads);
        ends_when_idle: assert (!(p_busy & !busy) | p_idle);
        at_least_16: assert (!(p_busy & !busy) | p_elapsed == 16);
    end
    always @(posedge cr_clk) begin
        ended: cover (p_busy & !busy);
        waited: cover (busy & p_elapsed == 16 & p_writes == 1);
    end
`ifdef INVARIANTS
    always @(*) i_elapsed: assert (p_elapsed <= 16 & elapsed_q == (p_elapsed == 16 ? 15 : p_elapsed[3:0]));
`endif
