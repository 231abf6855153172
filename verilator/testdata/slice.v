// One register slice, 100 bits wide: enough to meet every port size and a combinational output.
module slice(
  input wire sys_clk, input wire sys_rst,
  input wire [99:0] s_tdata, input wire s_tvalid, output wire s_tready,
  output wire [99:0] m_tdata, output wire m_tvalid, input wire m_tready,
  output reg [63:0] count, output wire taken
);
  reg [99:0] data;
  reg full;
  assign s_tready = !full | m_tready;
  assign taken = s_tvalid & s_tready;
  assign m_tdata = data;
  assign m_tvalid = full;
  always @(posedge sys_clk) begin
    if (s_tready) full <= s_tvalid;
    if (taken) begin
      data <= s_tdata;
      count <= count + 1;
    end
    if (sys_rst) begin
      full <= 0;
      count <= 0;
    end
  end
endmodule
