// A stand-in for the receive pipeline, 64 bits wide: strips the first beat of each frame as its header.
// A frame that begins with 0xaa opens or joins session 0 of queue 0; a flush-all token closes it. A frame of
// one beat with tuser is dropped. Writing register 0 selects a fault that the harness has to catch.
// @field@ becomes the position of that field in OPERATION, @BITS@ the width of all.
module groove_rx(
  input wire sys_clk, input wire sys_rst,
  input wire [63:0] s_axis_tdata, input wire [7:0] s_axis_tkeep, input wire s_axis_tlast,
  input wire s_axis_tuser, input wire s_axis_tvalid, output wire s_axis_tready,
  input wire [4:0] s_token_queue, input wire [1:0] s_token_kind, input wire s_token_valid,
  output wire s_token_ready,
  input wire [15:0] reg_addr, input wire [31:0] reg_wdata, input wire reg_write,
  output reg [31:0] reg_rdata,
  output wire [@BITS@-1:0] m_op_meta, output wire [1023:0] m_op_header, output wire m_op_valid,
  input wire m_op_ready,
  output wire [63:0] m_axis_tdata, output wire [7:0] m_axis_tkeep, output wire m_axis_tlast,
  output wire m_axis_tvalid, input wire m_axis_tready,
  input wire admit, input wire admit_answer,
  output wire drop_in_valid, output wire [31:0] drop_in_frame, output wire [2:0] drop_in_reason,
  output reg drop_valid, output reg [31:0] drop_frame, output reg [2:0] drop_reason
);
  reg [31:0] fault = 0;
  reg [31:0] read_stage;
  reg [4:0] started;
  reg [1:0] tick;
  reg in_frame, session_open;
  reg [63:0] head;
  reg [16:0] payload_len, session_len;
  reg [31:0] frame;
  reg out_valid, out_last;
  reg [63:0] out_data;
  reg [7:0] out_keep;
  reg op_valid;
  reg [@BITS@-1:0] op_meta;
  reg [63:0] op_head;

  wire run = started[4];
  wire room = (!out_valid | m_axis_tready) & (!op_valid | m_op_ready);
  assign s_axis_tready = (run & room & (in_frame | !s_token_valid | fault == 1) & fault != 15)
    | (sys_rst & fault == 2);
  assign s_token_ready = run & room & (!in_frame | fault == 3) & fault != 1;
  wire take = s_axis_tvalid & s_axis_tready;
  wire token = s_token_valid & s_token_ready;

  assign m_axis_tvalid = out_valid & !(fault == 4 & tick == 3 & !m_axis_tready);
  assign m_axis_tdata = out_data ^ {62'd0, fault == 5 ? tick : 2'd0};
  assign m_axis_tkeep = out_keep & (fault == 6 ? 8'hfd : fault == 7 ? 8'h7f : 8'hff);
  assign m_axis_tlast = out_last;
  assign m_op_valid = op_valid | (sys_rst & fault == 8);
  assign m_op_meta = op_meta;
  assign m_op_header = {960'd0, op_head ^ {62'd0, fault == 9 ? tick : 2'd0}};
  assign drop_in_valid = fault == 10 & take & s_axis_tlast & !sys_rst;
  assign drop_in_frame = frame + 1000;
  assign drop_in_reason = 3;

  function [16:0] bytes(input [7:0] keep);
    bytes = keep[0] + keep[1] + keep[2] + keep[3] + keep[4] + keep[5] + keep[6] + keep[7];
  endfunction

  wire first = !in_frame;
  wire [63:0] this_head = first ? s_axis_tdata : head;
  wire held = this_head[7:0] == 8'haa;
  wire dropped = first & s_axis_tlast & s_axis_tuser;
  wire [16:0] len = first ? 17'd0 : payload_len + bytes(s_axis_tkeep);
  wire lost = fault == 11 & frame == 5;

  always @(posedge sys_clk) begin
    tick <= tick + 1;
    read_stage <= fault;
    reg_rdata <= read_stage;
    if (reg_write & reg_addr == 0) fault <= reg_wdata;
    if (!run) started <= started + 1;
    if (m_axis_tready) out_valid <= 0;
    if (m_op_ready) op_valid <= 0;
    drop_valid <= 0;
    if (take) begin
      in_frame <= !s_axis_tlast;
      payload_len <= len;
      if (first) head <= s_axis_tdata;
      else begin
        out_valid <= 1;
        out_data <= s_axis_tdata;
        out_keep <= s_axis_tkeep;
        out_last <= s_axis_tlast | fault == 16;
      end
      if (s_axis_tlast) begin
        frame <= frame + 1;
        drop_valid <= dropped;
        drop_frame <= frame;
        drop_reason <= 2;
        op_valid <= !dropped & !lost;
        op_head <= this_head;
        op_meta <= 0;
        op_meta[@kind@] <= !held ? 0 : session_open ? 2 : 1;
        op_meta[@hdr_len@] <= first ? bytes(s_axis_tkeep) : 17'd8;
        op_meta[@payload_len@] <= fault == 12 ? len + 1 : len;
        op_meta[@session@] <= 0;
        op_meta[@alone_reason@] <= held ? 0 : 1;
        if (held & !dropped) begin
          session_open <= 1;
          session_len <= (session_open ? session_len : 17'd0) + len;
        end
      end
    end
    if (token & s_token_kind == 0 & session_open & fault != 13) begin
      session_open <= fault == 14;
      op_valid <= 1;
      op_head <= 64'h0807060504030201;
      op_meta <= 0;
      op_meta[@kind@] <= 3;
      op_meta[@hdr_len@] <= 8;
      op_meta[@payload_len@] <= session_len;
      op_meta[@end_reason@] <= 15;
      op_meta[@csum@] <= 2;
    end
    if (sys_rst) begin
      tick <= 0;
      started <= 0;
      in_frame <= 0;
      session_open <= 0;
      frame <= 0;
      out_valid <= 0;
      op_valid <= 0;
      drop_valid <= 0;
    end
  end
endmodule
