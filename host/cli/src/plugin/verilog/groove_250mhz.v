// SPDX-License-Identifier: MIT OR Apache-2.0
// Groove in OpenNIC's 250 MHz box: frames of the MAC go through a core each, to the host; frames of
// the host go to the MAC as they are.
//
// OpenNIC wants tuser_size to hold from the first beat, tuser_dst to name the function towards the
// host (bit i) and the MAC towards the wire (bit 6 + i). Registers: 64 KiB for each port.
module groove_250mhz #(
    parameter NUM_INTF = 1
) (
    input  wire                    s_axil_awvalid,
    input  wire [31:0]             s_axil_awaddr,
    output wire                    s_axil_awready,
    input  wire                    s_axil_wvalid,
    input  wire [31:0]             s_axil_wdata,
    output wire                    s_axil_wready,
    output wire                    s_axil_bvalid,
    output wire [1:0]              s_axil_bresp,
    input  wire                    s_axil_bready,
    input  wire                    s_axil_arvalid,
    input  wire [31:0]             s_axil_araddr,
    output wire                    s_axil_arready,
    output wire                    s_axil_rvalid,
    output wire [31:0]             s_axil_rdata,
    output wire [1:0]              s_axil_rresp,
    input  wire                    s_axil_rready,
    input  wire [NUM_INTF-1:0]     s_axis_qdma_h2c_tvalid,
    input  wire [512*NUM_INTF-1:0] s_axis_qdma_h2c_tdata,
    input  wire [64*NUM_INTF-1:0]  s_axis_qdma_h2c_tkeep,
    input  wire [NUM_INTF-1:0]     s_axis_qdma_h2c_tlast,
    input  wire [16*NUM_INTF-1:0]  s_axis_qdma_h2c_tuser_size,
    input  wire [16*NUM_INTF-1:0]  s_axis_qdma_h2c_tuser_src,
    input  wire [16*NUM_INTF-1:0]  s_axis_qdma_h2c_tuser_dst,
    output wire [NUM_INTF-1:0]     s_axis_qdma_h2c_tready,
    output wire [NUM_INTF-1:0]     m_axis_qdma_c2h_tvalid,
    output wire [512*NUM_INTF-1:0] m_axis_qdma_c2h_tdata,
    output wire [64*NUM_INTF-1:0]  m_axis_qdma_c2h_tkeep,
    output wire [NUM_INTF-1:0]     m_axis_qdma_c2h_tlast,
    output wire [16*NUM_INTF-1:0]  m_axis_qdma_c2h_tuser_size,
    output wire [16*NUM_INTF-1:0]  m_axis_qdma_c2h_tuser_src,
    output wire [16*NUM_INTF-1:0]  m_axis_qdma_c2h_tuser_dst,
    input  wire [NUM_INTF-1:0]     m_axis_qdma_c2h_tready,
    output wire [NUM_INTF-1:0]     m_axis_adap_tx_250mhz_tvalid,
    output wire [512*NUM_INTF-1:0] m_axis_adap_tx_250mhz_tdata,
    output wire [64*NUM_INTF-1:0]  m_axis_adap_tx_250mhz_tkeep,
    output wire [NUM_INTF-1:0]     m_axis_adap_tx_250mhz_tlast,
    output wire [16*NUM_INTF-1:0]  m_axis_adap_tx_250mhz_tuser_size,
    output wire [16*NUM_INTF-1:0]  m_axis_adap_tx_250mhz_tuser_src,
    output wire [16*NUM_INTF-1:0]  m_axis_adap_tx_250mhz_tuser_dst,
    input  wire [NUM_INTF-1:0]     m_axis_adap_tx_250mhz_tready,
    input  wire [NUM_INTF-1:0]     s_axis_adap_rx_250mhz_tvalid,
    input  wire [512*NUM_INTF-1:0] s_axis_adap_rx_250mhz_tdata,
    input  wire [64*NUM_INTF-1:0]  s_axis_adap_rx_250mhz_tkeep,
    input  wire [NUM_INTF-1:0]     s_axis_adap_rx_250mhz_tlast,
    input  wire [16*NUM_INTF-1:0]  s_axis_adap_rx_250mhz_tuser_size,
    input  wire [16*NUM_INTF-1:0]  s_axis_adap_rx_250mhz_tuser_src,
    input  wire [16*NUM_INTF-1:0]  s_axis_adap_rx_250mhz_tuser_dst,
    output wire [NUM_INTF-1:0]     s_axis_adap_rx_250mhz_tready,
    input  wire                    mod_rstn,
    output wire                    mod_rst_done,
    input  wire                    axil_aclk,
    input  wire                    axis_aclk
);
    wire rst;
    groove_reset reset (.aclk(axil_aclk), .rstn(mod_rstn), .done(mod_rst_done), .rst(rst));

    wire [NUM_INTF-1:0] req, ack;
    wire [32*NUM_INTF-1:0] rdata;
    wire [2*NUM_INTF-1:0] resp;
    wire write;
    wire [15:0] addr;
    wire [31:0] wdata;
    wire [3:0] wstrb;
    groove_lite_near #(.PORTS(NUM_INTF)) near (
        .aclk(axil_aclk), .aresetn(!rst),
        .s_awvalid(s_axil_awvalid), .s_awaddr(s_axil_awaddr), .s_awready(s_axil_awready),
        .s_wvalid(s_axil_wvalid), .s_wdata(s_axil_wdata), .s_wstrb(4'hf),
        .s_wready(s_axil_wready), .s_bvalid(s_axil_bvalid), .s_bresp(s_axil_bresp),
        .s_bready(s_axil_bready), .s_arvalid(s_axil_arvalid), .s_araddr(s_axil_araddr),
        .s_arready(s_axil_arready), .s_rvalid(s_axil_rvalid), .s_rdata(s_axil_rdata),
        .s_rresp(s_axil_rresp), .s_rready(s_axil_rready),
        .req(req), .write(write), .addr(addr), .wdata(wdata), .wstrb(wstrb), .ack(ack),
        .rdata(rdata), .resp(resp)
    );

    assign m_axis_adap_tx_250mhz_tvalid = s_axis_qdma_h2c_tvalid;
    assign m_axis_adap_tx_250mhz_tdata = s_axis_qdma_h2c_tdata;
    assign m_axis_adap_tx_250mhz_tkeep = s_axis_qdma_h2c_tkeep;
    assign m_axis_adap_tx_250mhz_tlast = s_axis_qdma_h2c_tlast;
    assign m_axis_adap_tx_250mhz_tuser_size = s_axis_qdma_h2c_tuser_size;
    assign m_axis_adap_tx_250mhz_tuser_src = s_axis_qdma_h2c_tuser_src;
    assign s_axis_qdma_h2c_tready = m_axis_adap_tx_250mhz_tready;

    genvar i;
    generate
        for (i = 0; i < NUM_INTF; i = i + 1) begin : g
            assign m_axis_adap_tx_250mhz_tuser_dst[16*i +: 16] = 16'h1 << (6 + i);
            assign m_axis_qdma_c2h_tuser_dst[16*i +: 16] = 16'h1 << i;
            wire error, core;
            wire [127:0] user;
            wire [16:0] size;
            assign m_axis_qdma_c2h_tuser_size[16*i +: 16] = core ? size[15:0] : user[15:0];
            assign m_axis_qdma_c2h_tuser_src[16*i +: 16] = user[31:16];
            groove_port rx (
                .clk(axis_aclk), .rst(rst), .req(req[i]), .write(write), .addr(addr),
                .wdata(wdata), .wstrb(wstrb), .ack(ack[i]), .rdata(rdata[32*i +: 32]),
                .resp(resp[2*i +: 2]),
                .s_tvalid(s_axis_adap_rx_250mhz_tvalid[i]),
                .s_tdata(s_axis_adap_rx_250mhz_tdata[512*i +: 512]),
                .s_tkeep(s_axis_adap_rx_250mhz_tkeep[64*i +: 64]),
                .s_tlast(s_axis_adap_rx_250mhz_tlast[i]), .s_error(1'b0),
                .s_user({96'd0, s_axis_adap_rx_250mhz_tuser_src[16*i +: 16],
                    s_axis_adap_rx_250mhz_tuser_size[16*i +: 16]}),
                .s_tready(s_axis_adap_rx_250mhz_tready[i]),
                .m_tvalid(m_axis_qdma_c2h_tvalid[i]),
                .m_tdata(m_axis_qdma_c2h_tdata[512*i +: 512]),
                .m_tkeep(m_axis_qdma_c2h_tkeep[64*i +: 64]),
                .m_tlast(m_axis_qdma_c2h_tlast[i]), .m_error(error), .m_user(user),
                .m_core(core), .m_size(size), .m_tready(m_axis_qdma_c2h_tready[i])
            );
            wire _unused = &{1'b0, error, user[127:32], size[16]};
        end
    endgenerate
    wire _unused = &{1'b0, s_axis_qdma_h2c_tuser_dst, s_axis_adap_rx_250mhz_tuser_dst};
endmodule
