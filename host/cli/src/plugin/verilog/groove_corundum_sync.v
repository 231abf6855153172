// SPDX-License-Identifier: MIT OR Apache-2.0
// Groove in Corundum's application block, on the receive side of the synchronous MAC streams: one core for
// each. Ports are called as in the block, so that `groove_app_inst.vh` connects them by name.
//
// tuser bit 0 marks a bad frame: the core drops it, and it passes with its mark while the core is
// off. A merged frame has the time stamp of its first one. Registers: 64 KiB for each core in
// the application's BAR.
module groove_corundum_sync #(
    parameter PORT_COUNT = 1,
    parameter AXIS_SYNC_RX_USER_WIDTH = 97
) (
    input  wire clk,
    input  wire rst,
    input  wire [23:0]                     s_axil_app_ctrl_awaddr,
    input  wire [2:0]                      s_axil_app_ctrl_awprot,
    input  wire                            s_axil_app_ctrl_awvalid,
    output wire                            s_axil_app_ctrl_awready,
    input  wire [31:0]                     s_axil_app_ctrl_wdata,
    input  wire [3:0]                      s_axil_app_ctrl_wstrb,
    input  wire                            s_axil_app_ctrl_wvalid,
    output wire                            s_axil_app_ctrl_wready,
    output wire [1:0]                      s_axil_app_ctrl_bresp,
    output wire                            s_axil_app_ctrl_bvalid,
    input  wire                            s_axil_app_ctrl_bready,
    input  wire [23:0]                     s_axil_app_ctrl_araddr,
    input  wire [2:0]                      s_axil_app_ctrl_arprot,
    input  wire                            s_axil_app_ctrl_arvalid,
    output wire                            s_axil_app_ctrl_arready,
    output wire [31:0]                     s_axil_app_ctrl_rdata,
    output wire [1:0]                      s_axil_app_ctrl_rresp,
    output wire                            s_axil_app_ctrl_rvalid,
    input  wire                            s_axil_app_ctrl_rready,
    input  wire [PORT_COUNT*512-1:0] s_axis_sync_rx_tdata,
    input  wire [PORT_COUNT*64-1:0] s_axis_sync_rx_tkeep,
    input  wire [PORT_COUNT-1:0] s_axis_sync_rx_tvalid,
    output wire [PORT_COUNT-1:0] s_axis_sync_rx_tready,
    input  wire [PORT_COUNT-1:0] s_axis_sync_rx_tlast,
    input  wire [PORT_COUNT*AXIS_SYNC_RX_USER_WIDTH-1:0] s_axis_sync_rx_tuser,
    output wire [PORT_COUNT*512-1:0] m_axis_sync_rx_tdata,
    output wire [PORT_COUNT*64-1:0] m_axis_sync_rx_tkeep,
    output wire [PORT_COUNT-1:0] m_axis_sync_rx_tvalid,
    input  wire [PORT_COUNT-1:0] m_axis_sync_rx_tready,
    output wire [PORT_COUNT-1:0] m_axis_sync_rx_tlast,
    output wire [PORT_COUNT*AXIS_SYNC_RX_USER_WIDTH-1:0] m_axis_sync_rx_tuser
);
    wire [PORT_COUNT-1:0] req, ack;
    wire [32*PORT_COUNT-1:0] rdata;
    wire [2*PORT_COUNT-1:0] resp;
    wire write;
    wire [15:0] addr;
    wire [31:0] wdata;
    wire [3:0] wstrb;
    groove_lite_near #(.PORTS(PORT_COUNT)) near (
        .aclk(clk), .aresetn(!rst),
        .s_awvalid(s_axil_app_ctrl_awvalid), .s_awaddr({8'd0, s_axil_app_ctrl_awaddr}),
        .s_awready(s_axil_app_ctrl_awready), .s_wvalid(s_axil_app_ctrl_wvalid),
        .s_wdata(s_axil_app_ctrl_wdata), .s_wstrb(s_axil_app_ctrl_wstrb),
        .s_wready(s_axil_app_ctrl_wready), .s_bvalid(s_axil_app_ctrl_bvalid),
        .s_bresp(s_axil_app_ctrl_bresp), .s_bready(s_axil_app_ctrl_bready),
        .s_arvalid(s_axil_app_ctrl_arvalid), .s_araddr({8'd0, s_axil_app_ctrl_araddr}),
        .s_arready(s_axil_app_ctrl_arready), .s_rvalid(s_axil_app_ctrl_rvalid),
        .s_rdata(s_axil_app_ctrl_rdata), .s_rresp(s_axil_app_ctrl_rresp),
        .s_rready(s_axil_app_ctrl_rready),
        .req(req), .write(write), .addr(addr), .wdata(wdata), .wstrb(wstrb), .ack(ack),
        .rdata(rdata), .resp(resp)
    );
    wire _unused_top = &{1'b0, s_axil_app_ctrl_awprot, s_axil_app_ctrl_arprot};

    localparam SIDE = AXIS_SYNC_RX_USER_WIDTH - 1;
    genvar i;
    generate
        for (i = 0; i < PORT_COUNT; i = i + 1) begin : g
            wire error, core;
            wire [127:0] user;
            wire [16:0] size;
            assign m_axis_sync_rx_tuser[AXIS_SYNC_RX_USER_WIDTH*i +: AXIS_SYNC_RX_USER_WIDTH] = {user[0 +: AXIS_SYNC_RX_USER_WIDTH-1], error};
            groove_port rx (
                .clk(clk), .rst(rst), .req(req[i]), .write(write), .addr(addr), .wdata(wdata),
                .wstrb(wstrb), .ack(ack[i]), .rdata(rdata[32*i +: 32]), .resp(resp[2*i +: 2]),
                .s_tvalid(s_axis_sync_rx_tvalid[i]), .s_tdata(s_axis_sync_rx_tdata[512*i +: 512]),
                .s_tkeep(s_axis_sync_rx_tkeep[64*i +: 64]), .s_tlast(s_axis_sync_rx_tlast[i]),
                .s_error(s_axis_sync_rx_tuser[AXIS_SYNC_RX_USER_WIDTH*i]),
                .s_user({{128-SIDE{1'b0}}, s_axis_sync_rx_tuser[AXIS_SYNC_RX_USER_WIDTH*i + 1 +: AXIS_SYNC_RX_USER_WIDTH-1]}),
                .s_tready(s_axis_sync_rx_tready[i]), .m_tvalid(m_axis_sync_rx_tvalid[i]),
                .m_tdata(m_axis_sync_rx_tdata[512*i +: 512]), .m_tkeep(m_axis_sync_rx_tkeep[64*i +: 64]),
                .m_tlast(m_axis_sync_rx_tlast[i]), .m_error(error), .m_user(user), .m_core(core),
                .m_size(size), .m_tready(m_axis_sync_rx_tready[i])
            );
            wire _unused = &{1'b0, core, user[127:SIDE], size};
        end
    endgenerate
endmodule
