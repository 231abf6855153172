// Monitors that the property files instantiate. `in_reset` clears what they remember.

// A stream keeps its promises: what is offered stays, unchanged, until it is taken.
module groove_stable #(parameter W = 1) (
    input wire clk, input wire in_reset,
    input wire valid, input wire ready, input wire [W-1:0] data
);
    reg waits;
    reg [W-1:0] held;
    initial waits = 0;
    always @(posedge clk) begin
        waits <= valid & ~ready & ~in_reset;
        held <= data;
    end
    always @(*) begin
        valid_held: assert (!waits | valid);
        data_held: assert (!waits | data == held);
    end
    always @(posedge clk) stalled: cover (waits & valid & ready);
endmodule

// What goes in comes out, in order, once. At any time one word may be picked on its way in; `ahead`
// counts those before it, and when their turn is over the word that comes out must be the one that
// was picked. Since any word may be the picked one, this holds for each.
module groove_order #(parameter W = 1, parameter N = 4, parameter CAPACITY = 1) (
    input wire clk, input wire in_reset, input wire pick,
    input wire push, input wire [W-1:0] in, input wire pop, input wire [W-1:0] out,
    output reg [N-1:0] used, output reg tracks, output reg [N-1:0] ahead, output reg [W-1:0] word
);
    initial used = 0;
    initial tracks = 0;
    always @(posedge clk) begin
        if (in_reset) begin
            used <= 0;
            tracks <= 0;
        end else begin
            used <= used + push - pop;
            if (tracks & pop) begin
                tracks <= ahead != 0;
                ahead <= ahead - 1;
            end
            if (!tracks & push & pick) begin
                tracks <= 1;
                ahead <= used - pop;
                word <= in;
            end
        end
    end
    always @(*) begin
        in_order: assert (!(tracks & pop & ahead == 0) | out == word);
        none_twice: assert (!pop | used != 0);
        bounded: assert (used <= CAPACITY);
    end
    always @(posedge clk) begin
        passed: cover (tracks & pop & ahead == 0);
        full: cover (used == CAPACITY);
    end
`ifdef INVARIANTS
    always @(*) i_ahead: assert (!tracks | ahead < used);
`endif
endmodule

// What is due comes within so many cycles.
module groove_within #(parameter CYCLES = 1) (
    input wire clk, input wire in_reset, input wire due, input wire comes
);
    reg [7:0] count;
    // A wire: what reaches into a register from outside takes its initial value away.
    wire [7:0] elapsed = count;
    initial count = 0;
    always @(posedge clk) begin
        if (in_reset | !due | comes) count <= 0;
        else count <= count + 1;
    end
    always @(*) in_time: assert (elapsed <= CYCLES);
endmodule
