`ifdef INVARIANTS
    // The word that the block around it asks for.
    wire [$bits(raddr)-1:0] p_slot;
    wire [$bits(rdata)-1:0] p_word = words[p_slot];
`endif
