    // Any two positions: one that wants all the time, and another one.
    (* anyconst *) reg [4:0] p_one, p_other;
    reg [5:0] p_turns, p_total;
    reg p_chose;
    reg [31:0] p_wanted;
    initial p_turns = 0;
    initial p_total = 0;
    initial p_chose = 0;
    always @(posedge cr_clk) begin
        p_chose <= step & ~cr_rst;
        p_wanted <= wants;
        // Choices since it wanted and was not chosen.
        if (cr_rst | !wants[p_one] | (step & held_d[p_one])) begin
            p_turns <= 0;
            p_total <= 0;
        end else if (step) begin
            p_turns <= p_turns + held_d[p_other];
            p_total <= p_total + 1;
        end
    end
    always @(*) begin
        at_most_one: assert (!p_chose | (chosen & (chosen - 1)) == 0);
        who_wants: assert (!p_chose | (chosen & ~p_wanted) == 0);
        somebody: assert (!p_chose | p_wanted == 0 | chosen != 0);
        index_of_chosen: assert (!p_chose | chosen == 0 | chosen == 32'b1 << index);
        // So at most 31 choices pass who wants: one for each other.
        no_turn_twice: assert (p_one == p_other | p_turns <= 1);
    end
    always @(posedge cr_clk) begin
        waited: cover (p_turns == 1 & p_total >= 3);
        last_of_all: cover (p_chose & index == 31);
    end
`ifdef INVARIANTS
    // The position behind the last choice; 32 as after reset: from 0 on.
    reg [5:0] p_pointer;
    initial p_pointer = 32;
    integer p_i;
    always @(posedge cr_clk) begin
        if (cr_rst) p_pointer <= 32;
        else if (step) begin
            p_pointer <= 32;
            for (p_i = 0; p_i < 32; p_i = p_i + 1) if (held_d[p_i]) p_pointer <= p_i + 1;
        end
    end
    wire [4:0] p_distance = p_one - p_pointer[4:0], p_other_distance = p_other - p_pointer[4:0];
    always @(*) begin
        i_mask: assert (p_pointer <= 32 & above_q == (p_pointer == 32 ? 0 : 32'hffffffff << p_pointer));
        i_closer: assert (p_total + p_distance <= 31);
        i_had_its_turn: assert (p_turns == 0 | p_other_distance > p_distance);
    end
`endif
