    // Any queue, and any flow in it: `p_hash` and `p_digest` are its. Frames are of it or not, as
    // the input says; what is opened and closed in its bucket is written down, slot by slot.
    localparam p_L = $clog2(DEPTH), p_B = $clog2(BUCKETS);
    (* anyconst *) reg [4:0] p_queue;
    (* anyconst *) reg [31:0] p_hash;
    (* anyconst *) reg [15:0] p_digest;
    (* anyseq *) wire p_new;
    (* hierconn *) wire [164:0] \front.classify_key ;
    wire [9:0] p_bucket = (p_queue << p_B) | (p_hash[4:0] & (BUCKETS - 1));
    reg p_flow;
    reg [14:0] p_read;
    reg [DEPTH-1:0] p_used, p_held;
    initial p_flow = 0;
    initial p_used = 0;
    initial p_held = 0;
    // What the blocks around promise, and the cut ones: frames of a flow have one hash and one
    // digest; who would be held is looked up; the comparison knows the flow from any other.
    wire p_same = store_facts[0];
    wire [p_L-1:0] p_read_slot = p_read[p_L-1:0];
    always @(*) begin
        assume (p_queue < QUEUES);
        assume (s_meta[0] | s_meta[7:3] < QUEUES);
        assume (!p_new | (!s_meta[0] & s_meta[39:8] == p_hash));
        assume (!p_new | \front.classify_key [139:124] == p_digest);
        assume (!\front.classify_key [141] | \front.classify_key [140]);
        // The header in RAM is that of the frame that opened the session.
        assume (p_read >> p_L != p_bucket | !lookup_current
            | (p_flow ? p_same == p_held[p_read_slot] : !(p_same & p_held[p_read_slot])));
    end
    // Opened, closed or replaced in the bucket, and where.
    wire p_here = addresses_tag_write == p_bucket & ~control_clear;
    wire [DEPTH-1:0] p_slot = 1'b1 << lookup_frame_slot;
    wire [DEPTH-1:0] p_opened = {DEPTH{p_here & opens}} & p_slot;
    wire [DEPTH-1:0] p_closed = {DEPTH{p_here & closes}} & (1'b1 << lookup_slot);
    wire p_mine = p_flow & front_meta[7:3] == p_queue;
    always @(posedge cr_clk) begin
        if (control_take & s_valid) p_flow <= p_new;
        if (store_read) p_read <= addresses_session_read;
        if (cr_rst) begin
            p_used <= 0;
            p_held <= 0;
        end else begin
            p_used <= (p_used & ~p_closed) | p_opened;
            p_held <= (p_held & ~p_closed & ~p_opened) | (p_opened & {DEPTH{p_mine}});
        end
    end
    wire p_acts = control_act & p_mine & front_key[140];
    always @(*) begin
        one_entry_per_flow: assert ((p_held & (p_held - 1'b1)) == 0);
        meets_its_session: assert (!(p_acts & p_held != 0)
            | (lookup_current & p_same & p_held[lookup_slot]));
        opens_in_free_slot: assert ((p_opened & p_used & ~p_closed) == 0);
        closes_what_is_held: assert ((p_closed & ~p_used) == 0 & (!(p_here & closes) | p_closed != 0));
    end
    always @(posedge cr_clk) begin
        opened_again: cover (opens & closes & p_mine & p_held != 0);
        flushed: cover (p_here & control_walk_close & p_held != 0);
    end
    generate if (DEPTH == 2)
        always @(posedge cr_clk) evicted: cover (p_here & opens & closes & !p_flow & p_held == 1);
    endgenerate
`ifdef INVARIANTS
    (* hierconn *) wire [3:0] \control.state_q ;
    (* hierconn *) wire [9:0] \control.address_q ;
    (* hierconn *) wire [4:0] \control.walk_q ;
    (* hierconn *) wire [31:0] \lookup.rest_q ;
    wire [54*DEPTH-1:0] p_words, p_rdata;
    SLOTS
    wire [3:0] p_state = \control.state_q ;
    wire p_cleared = p_state != 0 | \control.address_q > p_bucket;
    wire [DEPTH-1:0] p_valid, p_tagged, p_fresh;
    genvar p_i;
    generate for (p_i = 0; p_i < DEPTH; p_i = p_i + 1) begin
        assign p_valid[p_i] = p_words[54 * p_i + 5];
        assign p_tagged[p_i] = p_words[54 * p_i + 6 +: 48] == {p_hash, p_digest};
        assign p_fresh[p_i] = p_words[54 * p_i +: 54] == p_rdata[54 * p_i +: 54];
    end endgenerate
    wire p_looks = (p_state >= 2 & p_state <= 4) | p_state == 6 | p_state == 7;
    wire p_compares = p_state == 3 | p_state == 4;
    wire p_walks = p_state >= 5;
    always @(*) begin
        i_state: assert (p_state <= 8 & (p_state != 0 | \control.address_q < QUEUES * BUCKETS));
        i_queue: assert ((front_meta[0] & !p_walks) | front_meta[7:3] < QUEUES);
        i_walk: assert (!(p_walks & p_state != 8) | \control.walk_q < BUCKETS);
        i_frame: assert (!(p_state == 3 | p_state == 4) | !front_meta[0]);
        i_flow: assert (!p_flow | (!front_meta[0] & front_meta[39:8] == p_hash
            & front_key[139:124] == p_digest));
        i_search: assert (!front_key[141] | front_key[140]);
        i_used: assert (p_used == (p_cleared ? p_valid : 0));
        i_held: assert ((p_held & ~(p_used & p_tagged)) == 0);
        i_fresh: assert (!(p_looks & p_here) | p_fresh == {DEPTH{1'b1}});
        i_slot: assert (lookup_slot < DEPTH & \lookup.rest_q >> DEPTH == 0);
        i_read: assert (!(p_compares | p_state == 7)
            | p_read == ((addresses_tag_write << p_L) | lookup_slot));
        i_valid: assert (!((p_compares & lookup_current) | p_state == 7) | !p_here
            | p_valid[lookup_slot]);
        i_rest: assert (!(p_compares & p_here) | (\lookup.rest_q [DEPTH-1:0] & ~p_valid) == 0);
        i_candidate: assert (!(p_compares & p_mine & front_key[140] & p_held != 0)
            | (lookup_current & (p_held[lookup_slot] | (p_held & \lookup.rest_q [DEPTH-1:0]) != 0)));
    end
`endif
