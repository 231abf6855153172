// A stand-in for the NIC, 64 bits wide. A command written to its registers becomes a burst: a write whose
// bytes are all (address / 8), a completion (a write of four beats with id 1, and then an MSI-X message), or
// a read that is added up. Frames are counted; one with tuser is logged as dropped. Writing register 0
// selects a fault that the harness has to catch.
module groove_nic(
  input wire sys_clk, input wire sys_rst, input wire flr, output wire flr_busy,
  input wire [63:0] s_axis_tdata, input wire [7:0] s_axis_tkeep, input wire s_axis_tlast,
  input wire s_axis_tuser, input wire s_axis_tvalid, output wire s_axis_tready,
  input wire [4:0] s_token_queue, input wire [1:0] s_token_kind, input wire s_token_valid,
  output wire s_token_ready,
  input wire [15:0] axil_awaddr, input wire axil_awvalid, output wire axil_awready,
  input wire [31:0] axil_wdata, input wire [3:0] axil_wstrb, input wire axil_wvalid,
  output wire axil_wready,
  output reg [1:0] axil_bresp, output wire axil_bvalid, input wire axil_bready,
  input wire [15:0] axil_araddr, input wire axil_arvalid, output wire axil_arready,
  output wire [31:0] axil_rdata, output wire [1:0] axil_rresp, output reg axil_rvalid,
  input wire axil_rready,
  output wire [1:0] axi_awid, output wire [63:0] axi_awaddr, output wire [7:0] axi_awlen,
  output wire [2:0] axi_awsize, output wire [1:0] axi_awburst, output wire axi_awvalid,
  input wire axi_awready,
  output wire [63:0] axi_wdata, output wire [7:0] axi_wstrb, output wire axi_wlast,
  output wire axi_wvalid, input wire axi_wready,
  input wire [1:0] axi_bid, input wire [1:0] axi_bresp, input wire axi_bvalid, output wire axi_bready,
  output wire [1:0] axi_arid, output wire [63:0] axi_araddr, output wire [7:0] axi_arlen,
  output wire [2:0] axi_arsize, output wire [1:0] axi_arburst, output wire axi_arvalid,
  input wire axi_arready,
  input wire [1:0] axi_rid, input wire [63:0] axi_rdata, input wire [1:0] axi_rresp, input wire axi_rlast,
  input wire axi_rvalid, output wire axi_rready,
  output wire [4:0] msix_vector, output wire msix_valid, input wire msix_ready,
  output wire drop_in_valid, output wire [31:0] drop_in_frame, output wire [2:0] drop_in_reason,
  output reg drop_valid, output reg [31:0] drop_frame, output reg [2:0] drop_reason,
  output reg token_log_valid, output reg [4:0] token_log_queue, output reg [1:0] token_log_kind,
  output reg [31:0] token_log_frame
);
  reg [31:0] fault = 0;
  reg [1:0] tick;
  reg run, resetting;
  always @(posedge sys_clk) begin
    run <= !sys_rst & !flr_busy;
    tick <= sys_rst ? 0 : tick + 1;
  end

  // Registers.
  reg aw_taken, w_taken, b_valid, b_late;
  reg [15:0] aw_address, r_address;
  reg [31:0] w_data, address_low, address_high, answers, errors, sum, frames;
  reg [3:0] w_strobes;
  assign axil_awready = run & !aw_taken & !b_valid;
  assign axil_wready = run & !w_taken & !b_valid;
  assign axil_arready = run & !axil_rvalid;
  assign axil_bvalid = b_valid | (fault == 11 & run & tick == 1);
  assign axil_rresp = r_address[15:12] == 15 ? 2 : 0;
  assign axil_rdata = (r_address == 0 ? fault : r_address == 16 ? answers : r_address == 20 ? errors
    : r_address == 24 ? sum : frames) ^ (fault == 20 ? tick : 0);
  wire both = aw_taken & w_taken & !b_valid & fault != 17;
  wire good = w_strobes == 15 & aw_address[15:12] != 15;
  wire command = both & good & aw_address == 12;
  always @(posedge sys_clk) begin
    if (axil_awvalid & axil_awready) begin aw_taken <= 1; aw_address <= axil_awaddr; end
    if (axil_wvalid & axil_wready) begin
      w_taken <= 1; w_data <= axil_wdata; w_strobes <= axil_wstrb;
    end
    if (both) begin
      b_valid <= 1; axil_bresp <= good ? 0 : 2; aw_taken <= 0; w_taken <= 0;
      if (good & aw_address == 0) fault <= w_data;
      if (good & aw_address == 4) address_low <= w_data;
      if (good & aw_address == 8) address_high <= w_data;
    end
    if (b_valid & axil_bready) b_valid <= 0;
    if (axil_arvalid & axil_arready) begin axil_rvalid <= 1; r_address <= axil_araddr; end
    if (axil_rvalid & axil_rready) axil_rvalid <= 0;
    if (sys_rst) begin aw_taken <= 0; w_taken <= 0; b_valid <= 0; axil_rvalid <= 0; end
  end

  // Commands, eight at most.
  reg [73:0] commands [0:7];
  reg [3:0] put, get;
  reg aw_on, w_on, ar_on, beat_old, blank;
  reg [1:0] kind;
  reg [7:0] length, beat;
  reg [63:0] address;
  reg [7:0] writes_open, reads_open;
  wire idle = !aw_on & !w_on & !ar_on;
  wire next = idle & put != get & !resetting & run;
  wire [60:0] beat_address = address[63:3] + beat;
  wire [7:0] value = beat_address[7:0] + (fault == 5 & beat_old ? 1 : 0);
  wire wanted_last = beat == length;
  assign axi_awvalid = (aw_on & !(fault == 1 & tick == 3)) | (fault == 13 & sys_rst);
  assign axi_awaddr = address ^ (fault == 2 & tick[0] ? 64'h1000 : 0);
  assign axi_awid = fault == 8 ? 3 : kind == 2 ? 1 : 0;
  assign axi_awlen = length;
  assign axi_awsize = fault == 7 ? 2 : 3;
  assign axi_awburst = fault == 9 ? 2 : 1;
  assign axi_wvalid = w_on;
  assign axi_wdata = {8{value}};
  wire [7:0] strobes = 8'hff << (beat == 0 ? address[2:0] : 0);
  assign axi_wstrb = blank | (fault == 15 & wanted_last) ? 0 : fault == 10 ? strobes & 8'hef
    : fault == 16 & beat == 1 ? 8'h0f : fault == 19 ? 8'hff : strobes;
  assign axi_wlast = fault == 3 ? beat == 1 : fault == 4 ? 0 : wanted_last;
  assign axi_bready = tick != 2;
  assign axi_arvalid = ar_on | (fault == 18 & run & tick == 3);
  assign axi_araddr = address ^ (fault == 6 & tick[0] ? 64'h40 : 0);
  assign axi_arid = 2;
  assign axi_arlen = length;
  assign axi_arsize = 3;
  assign axi_arburst = 1;
  assign axi_rready = tick != 1;
  assign flr_busy = resetting;
  wire aw_go = aw_on & axi_awvalid & axi_awready;
  wire w_go = w_on & axi_wready;
  wire ar_go = ar_on & axi_arready;
  wire b_go = axi_bvalid & axi_bready;
  wire r_go = axi_rvalid & axi_rready;
  always @(posedge sys_clk) begin
    if (command) begin commands[put[2:0]] <= {w_data[15:8], w_data[1:0], address_high, address_low}; put <= put + 1; end
    if (next) begin
      get <= get + 1;
      {length, kind, address} <= commands[get[2:0]];
      beat <= 0; blank <= 0;
      aw_on <= commands[get[2:0]][65:64] != 3; w_on <= commands[get[2:0]][65:64] != 3;
      ar_on <= commands[get[2:0]][65:64] == 3;
    end
    if (aw_go) aw_on <= 0;
    if (ar_go) ar_on <= 0;
    beat_old <= w_on & !axi_wready;
    if (w_go) begin
      beat <= beat + 1;
      if (resetting) blank <= 1;
      if (wanted_last) begin w_on <= 0; blank <= 0; end
    end
    writes_open <= writes_open + (next & commands[get[2:0]][65:64] != 3) - b_go;
    reads_open <= reads_open + (next & commands[get[2:0]][65:64] == 3) - (r_go & axi_rlast);
    if (b_go) answers <= answers + 1;
    if (b_go & axi_bresp != 0 | r_go & axi_rlast & axi_rresp != 0) errors <= errors + 1;
    if (r_go) sum <= sum + axi_rdata[31:0];
    if (r_go & axi_rlast) answers <= answers + 1;
    if (flr) begin resetting <= 1; put <= 0; get <= 0; end
    else if (resetting & idle & (writes_open == 0 & reads_open == 0 | fault == 14)) resetting <= 0;
    if (resetting) begin answers <= 0; errors <= 0; sum <= 0; end
    if (sys_rst) begin
      put <= 0; get <= 0; aw_on <= 0; w_on <= 0; ar_on <= 0; writes_open <= 0; reads_open <= 0;
      answers <= 0; errors <= 0; sum <= 0; resetting <= 0; blank <= 0; beat_old <= 0;
    end
  end

  // Messages.
  reg [4:0] fired, taken;
  assign msix_valid = fired != taken & run;
  assign msix_vector = taken ^ (fault == 12 & tick[0] ? 16 : 0);
  always @(posedge sys_clk) begin
    if (b_go & axi_bid == 1) fired <= fired + 1;
    if (msix_valid & msix_ready) taken <= taken + 1;
    if (sys_rst | resetting) begin fired <= 0; taken <= 0; end
  end

  // Frames and tokens.
  reg in_frame, stale;
  assign s_axis_tready = run & tick != 3;
  assign s_token_ready = run & tick == 2;
  wire beat_go = s_axis_tvalid & s_axis_tready;
  assign drop_in_valid = 0;
  assign drop_in_frame = 0;
  assign drop_in_reason = 0;
  always @(posedge sys_clk) begin
    drop_valid <= beat_go & s_axis_tlast & s_axis_tuser & !stale;
    drop_frame <= frames + (fault == 21 ? 1000 : 0);
    drop_reason <= 4;
    token_log_valid <= s_token_valid & s_token_ready;
    token_log_queue <= s_token_queue;
    token_log_kind <= fault == 22 ? 3 : s_token_kind;
    token_log_frame <= frames + ((in_frame | beat_go) & !stale) + (fault == 23 ? 1000 : 0);
    if (beat_go) in_frame <= !s_axis_tlast;
    if (beat_go & s_axis_tlast) begin frames <= frames + !stale; stale <= 0; end
    if (sys_rst | resetting) begin frames <= 0; drop_valid <= 0; token_log_valid <= 0; end
    // What is left of a frame that a reset met is swallowed.
    if (resetting & in_frame & !(beat_go & s_axis_tlast)) stale <= 1;
    if (sys_rst) begin in_frame <= 0; stale <= 0; end
  end
endmodule
