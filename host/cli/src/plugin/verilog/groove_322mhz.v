// SPDX-License-Identifier: MIT OR Apache-2.0
// Groove in OpenNIC's 322 MHz box: frames of the MAC go through a core each, to the adapter; frames
// of the host go to the MAC as they are.
//
// Towards the host this box has no tready on either side: the core takes a beat in every cycle, and
// drops and counts what finds no room (INLINE_STATUS and the drop counters). tvalid does not fall
// inside a frame. A frame with tuser_err is dropped by the core, and passes with its mark while the
// core is off. Registers: 64 KiB for each port.
module groove_322mhz #(
    parameter NUM_CMAC_PORT = 1
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
    input  wire [NUM_CMAC_PORT-1:0]        s_axis_adap_tx_322mhz_tvalid,
    input  wire [512*NUM_CMAC_PORT-1:0]    s_axis_adap_tx_322mhz_tdata,
    input  wire [64*NUM_CMAC_PORT-1:0]     s_axis_adap_tx_322mhz_tkeep,
    input  wire [NUM_CMAC_PORT-1:0]        s_axis_adap_tx_322mhz_tlast,
    input  wire [NUM_CMAC_PORT-1:0]        s_axis_adap_tx_322mhz_tuser_err,
    output wire [NUM_CMAC_PORT-1:0]        s_axis_adap_tx_322mhz_tready,
    output wire [NUM_CMAC_PORT-1:0]        m_axis_adap_rx_322mhz_tvalid,
    output wire [512*NUM_CMAC_PORT-1:0]    m_axis_adap_rx_322mhz_tdata,
    output wire [64*NUM_CMAC_PORT-1:0]     m_axis_adap_rx_322mhz_tkeep,
    output wire [NUM_CMAC_PORT-1:0]        m_axis_adap_rx_322mhz_tlast,
    output wire [NUM_CMAC_PORT-1:0]        m_axis_adap_rx_322mhz_tuser_err,
    output wire [NUM_CMAC_PORT-1:0]        m_axis_cmac_tx_tvalid,
    output wire [512*NUM_CMAC_PORT-1:0]    m_axis_cmac_tx_tdata,
    output wire [64*NUM_CMAC_PORT-1:0]     m_axis_cmac_tx_tkeep,
    output wire [NUM_CMAC_PORT-1:0]        m_axis_cmac_tx_tlast,
    output wire [NUM_CMAC_PORT-1:0]        m_axis_cmac_tx_tuser_err,
    input  wire [NUM_CMAC_PORT-1:0]        m_axis_cmac_tx_tready,
    input  wire [NUM_CMAC_PORT-1:0]        s_axis_cmac_rx_tvalid,
    input  wire [512*NUM_CMAC_PORT-1:0]    s_axis_cmac_rx_tdata,
    input  wire [64*NUM_CMAC_PORT-1:0]     s_axis_cmac_rx_tkeep,
    input  wire [NUM_CMAC_PORT-1:0]        s_axis_cmac_rx_tlast,
    input  wire [NUM_CMAC_PORT-1:0]        s_axis_cmac_rx_tuser_err,
    input  wire                    mod_rstn,
    output wire                    mod_rst_done,
    input  wire                    axil_aclk,
    input  wire [NUM_CMAC_PORT-1:0] cmac_clk
);
    wire rst;
    groove_reset reset (.aclk(axil_aclk), .rstn(mod_rstn), .done(mod_rst_done), .rst(rst));

    wire [NUM_CMAC_PORT-1:0] req, ack;
    wire [32*NUM_CMAC_PORT-1:0] rdata;
    wire [2*NUM_CMAC_PORT-1:0] resp;
    wire write;
    wire [15:0] addr;
    wire [31:0] wdata;
    wire [3:0] wstrb;
    groove_lite_near #(.PORTS(NUM_CMAC_PORT)) near (
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

    assign m_axis_cmac_tx_tvalid = s_axis_adap_tx_322mhz_tvalid;
    assign m_axis_cmac_tx_tdata = s_axis_adap_tx_322mhz_tdata;
    assign m_axis_cmac_tx_tkeep = s_axis_adap_tx_322mhz_tkeep;
    assign m_axis_cmac_tx_tlast = s_axis_adap_tx_322mhz_tlast;
    assign m_axis_cmac_tx_tuser_err = s_axis_adap_tx_322mhz_tuser_err;
    assign s_axis_adap_tx_322mhz_tready = m_axis_cmac_tx_tready;

    genvar i;
    generate
        for (i = 0; i < NUM_CMAC_PORT; i = i + 1) begin : g
            wire ready, core;
            wire [127:0] user;
            wire [16:0] size;
            groove_port rx (
                .clk(cmac_clk[i]), .rst(rst), .req(req[i]), .write(write), .addr(addr),
                .wdata(wdata), .wstrb(wstrb), .ack(ack[i]), .rdata(rdata[32*i +: 32]),
                .resp(resp[2*i +: 2]),
                .s_tvalid(s_axis_cmac_rx_tvalid[i]), .s_tdata(s_axis_cmac_rx_tdata[512*i +: 512]),
                .s_tkeep(s_axis_cmac_rx_tkeep[64*i +: 64]), .s_tlast(s_axis_cmac_rx_tlast[i]),
                .s_error(s_axis_cmac_rx_tuser_err[i]), .s_user(128'd0), .s_tready(ready),
                .m_tvalid(m_axis_adap_rx_322mhz_tvalid[i]),
                .m_tdata(m_axis_adap_rx_322mhz_tdata[512*i +: 512]),
                .m_tkeep(m_axis_adap_rx_322mhz_tkeep[64*i +: 64]),
                .m_tlast(m_axis_adap_rx_322mhz_tlast[i]),
                .m_error(m_axis_adap_rx_322mhz_tuser_err[i]), .m_user(user), .m_core(core),
                .m_size(size), .m_tready(1'b1)
            );
            wire _unused = &{1'b0, ready, core, user, size};
        end
    endgenerate
endmodule
