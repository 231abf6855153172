// SPDX-License-Identifier: MIT OR Apache-2.0
// What the wrappers of all shells share: register port with a change of clock, reset, one core for
// each port.
//
//   AXI-Lite ─► groove_lite_near ═ toggles ═► groove_lite_far ─► groove_inline
//
// Payload and answer stand still while a toggle crosses, so that only toggles are synchronized.

// Register port of the shell: one access at a time; bits 16 and up of the address choose the port.
module groove_lite_near #(
    parameter PORTS = 1
) (
    input  wire                aclk,
    input  wire                aresetn,
    input  wire                s_awvalid,
    input  wire [31:0]         s_awaddr,
    output wire                s_awready,
    input  wire                s_wvalid,
    input  wire [31:0]         s_wdata,
    input  wire [3:0]          s_wstrb,
    output wire                s_wready,
    output wire                s_bvalid,
    output wire [1:0]          s_bresp,
    input  wire                s_bready,
    input  wire                s_arvalid,
    input  wire [31:0]         s_araddr,
    output wire                s_arready,
    output wire                s_rvalid,
    output wire [31:0]         s_rdata,
    output wire [1:0]          s_rresp,
    input  wire                s_rready,
    output reg  [PORTS-1:0]    req,
    output reg                 write,
    output reg  [15:0]         addr,
    output reg  [31:0]         wdata,
    output reg  [3:0]          wstrb,
    input  wire [PORTS-1:0]    ack,
    input  wire [32*PORTS-1:0] rdata,
    input  wire [2*PORTS-1:0]  resp
);
    localparam [1:0] IDLE = 2'd0, AWAY = 2'd1, BACK = 2'd2;
    reg [1:0] state;
    reg [3:0] port;
    reg [31:0] answer;
    reg [1:0] verdict;
    (* ASYNC_REG = "TRUE" *) reg [PORTS-1:0] ack_meta, ack_sync;

    // What the chosen port says; a port that is not there answers DECERR at once.
    reg        home;
    reg [31:0] its_rdata;
    reg [1:0]  its_resp;
    integer    p;
    always @(*) begin
        home = 1'b1;
        its_rdata = 32'd0;
        its_resp = 2'b11;
        for (p = 0; p < PORTS; p = p + 1)
            if ({28'd0, port} == p) begin
                home = ack_sync[p] == req[p];
                its_rdata = rdata[32*p +: 32];
                its_resp = resp[2*p +: 2];
            end
    end

    wire take_write = state == IDLE && s_awvalid && s_wvalid;
    wire take_read = state == IDLE && s_arvalid && !take_write;
    wire [3:0] to_port = take_write ? s_awaddr[19:16] : s_araddr[19:16];
    assign s_awready = take_write;
    assign s_wready = take_write;
    assign s_arready = take_read;
    assign s_bvalid = state == BACK && write;
    assign s_rvalid = state == BACK && !write;
    assign s_bresp = verdict;
    assign s_rresp = verdict;
    assign s_rdata = answer;

    always @(posedge aclk) begin
        ack_meta <= ack;
        ack_sync <= ack_meta;
        if (!aresetn) begin
            state <= IDLE;
            req <= {PORTS{1'b0}};
            port <= 4'd0;
        end else case (state)
            IDLE: if (take_write || take_read) begin
                state <= AWAY;
                port <= to_port;
                for (p = 0; p < PORTS; p = p + 1)
                    if ({28'd0, to_port} == p) req[p] <= !req[p];
            end
            AWAY: if (home) state <= BACK;
            default: if (write ? s_bready : s_rready) state <= IDLE;
        endcase
        if (take_write || take_read) begin
            write <= take_write;
            addr <= take_write ? s_awaddr[15:0] : s_araddr[15:0];
            wdata <= s_wdata;
            wstrb <= s_wstrb;
        end
        if (state == AWAY) begin
            answer <= its_rdata;
            verdict <= its_resp;
        end
    end

    wire _unused = &{1'b0, s_awaddr[31:20], s_araddr[31:20]};
endmodule

// The other end, in the clock of a core.
module groove_lite_far (
    input  wire        clk,
    input  wire        rst,
    input  wire        req,
    input  wire        write,
    output reg         ack,
    output reg  [31:0] rdata,
    output reg  [1:0]  resp,
    output reg         awvalid,
    input  wire        awready,
    output reg         wvalid,
    input  wire        wready,
    input  wire        bvalid,
    input  wire [1:0]  bresp,
    output reg         arvalid,
    input  wire        arready,
    input  wire        rvalid,
    input  wire [31:0] axil_rdata,
    input  wire [1:0]  rresp
);
    (* ASYNC_REG = "TRUE" *) reg req_meta, req_sync;
    reg at_work;
    always @(posedge clk) begin
        req_meta <= req;
        req_sync <= req_meta;
        if (rst) begin
            ack <= 1'b0;
            at_work <= 1'b0;
            awvalid <= 1'b0;
            wvalid <= 1'b0;
            arvalid <= 1'b0;
        end else begin
            if (awready) awvalid <= 1'b0;
            if (wready) wvalid <= 1'b0;
            if (arready) arvalid <= 1'b0;
            if (!at_work && req_sync != ack) begin
                at_work <= 1'b1;
                awvalid <= write;
                wvalid <= write;
                arvalid <= !write;
            end
            if (at_work && (bvalid || rvalid)) begin
                at_work <= 1'b0;
                ack <= req_sync;
            end
        end
        if (bvalid || rvalid) begin
            rdata <= axil_rdata;
            resp <= bvalid ? bresp : rresp;
        end
    end
endmodule

// Reset of a module by the shell: `rstn` may be a pulse; `done` falls with it, and rises when every
// clock has seen the reset and its end. Clocks must be faster than an eighth of `aclk`.
module groove_reset (
    input  wire aclk,
    input  wire rstn,
    output wire done,
    output reg  rst
);
    reg [7:0] count = 8'd0;
    assign done = count == 8'd255;
    initial rst = 1'b1;
    always @(posedge aclk) begin
        rst <= !rstn || count < 8'd128;
        if (!rstn) count <= 8'd0;
        else if (!done) count <= count + 8'd1;
    end
endmodule

// One core with its end of the register port. `rst` may come from another clock.
module groove_port (
    input  wire         clk,
    input  wire         rst,
    input  wire         req,
    input  wire         write,
    input  wire [15:0]  addr,
    input  wire [31:0]  wdata,
    input  wire [3:0]   wstrb,
    output wire         ack,
    output wire [31:0]  rdata,
    output wire [1:0]   resp,
    input  wire         s_tvalid,
    input  wire [511:0] s_tdata,
    input  wire [63:0]  s_tkeep,
    input  wire         s_tlast,
    input  wire         s_error,
    input  wire [127:0] s_user,
    output wire         s_tready,
    output wire         m_tvalid,
    output wire [511:0] m_tdata,
    output wire [63:0]  m_tkeep,
    output wire         m_tlast,
    output wire         m_error,
    output wire [127:0] m_user,
    output wire         m_core,
    output wire [16:0]  m_size,
    input  wire         m_tready
);
    (* ASYNC_REG = "TRUE" *) reg rst_meta = 1'b1;
    (* ASYNC_REG = "TRUE" *) reg rst_sync = 1'b1;
    always @(posedge clk) begin
        rst_meta <= rst;
        rst_sync <= rst_meta;
    end
    // No frame is taken, and none offered, while the reset lasts.
    wire ready, valid;
    assign s_tready = ready && !rst_sync;
    assign m_tvalid = valid && !rst_sync;

    wire awvalid, awready, wvalid, wready, bvalid, arvalid, arready, rvalid;
    wire [1:0] bresp, rresp;
    wire [31:0] axil_rdata;
    groove_lite_far far (
        .clk(clk), .rst(rst_sync), .req(req), .write(write), .ack(ack), .rdata(rdata), .resp(resp),
        .awvalid(awvalid), .awready(awready), .wvalid(wvalid), .wready(wready), .bvalid(bvalid),
        .bresp(bresp), .arvalid(arvalid), .arready(arready), .rvalid(rvalid),
        .axil_rdata(axil_rdata), .rresp(rresp)
    );

    wire [255:0] meta;
    wire [1:0] state;
    wire token_ready, drop_in_valid, drop_valid, token_valid;
    wire [31:0] drop_in_frame, drop_frame, token_frame;
    wire [2:0] drop_in_reason, drop_reason;
    wire [4:0] token_queue;
    wire [1:0] token_kind;
    groove_inline core (
        .sys_clk(clk), .sys_rst(rst_sync),
        .s_axis_tdata(s_tdata), .s_axis_tkeep(s_tkeep), .s_axis_tlast(s_tlast),
        .s_axis_tuser(s_error), .s_axis_tvalid(s_tvalid && !rst_sync), .s_axis_tready(ready),
        .s_user(s_user),
        .s_token_queue(5'd0), .s_token_kind(2'd0), .s_token_valid(1'b0),
        .s_token_ready(token_ready),
        .axil_awaddr(addr), .axil_awvalid(awvalid), .axil_awready(awready),
        .axil_wdata(wdata), .axil_wstrb(wstrb), .axil_wvalid(wvalid), .axil_wready(wready),
        .axil_bvalid(bvalid), .axil_bresp(bresp), .axil_bready(1'b1),
        .axil_araddr(addr), .axil_arvalid(arvalid), .axil_arready(arready),
        .axil_rvalid(rvalid), .axil_rdata(axil_rdata), .axil_rresp(rresp), .axil_rready(1'b1),
        .m_axis_tdata(m_tdata), .m_axis_tkeep(m_tkeep), .m_axis_tlast(m_tlast),
        .m_axis_tuser(m_error), .m_axis_tvalid(valid), .m_axis_tready(m_tready),
        .m_user(m_user), .m_core(m_core), .m_meta(meta), .m_size(m_size), .state(state),
        .drop_in_valid(drop_in_valid), .drop_in_frame(drop_in_frame),
        .drop_in_reason(drop_in_reason), .drop_valid(drop_valid), .drop_frame(drop_frame),
        .drop_reason(drop_reason), .token_log_valid(token_valid), .token_log_queue(token_queue),
        .token_log_kind(token_kind), .token_log_frame(token_frame)
    );
    wire _unused = &{1'b0, meta, state, token_ready, drop_in_valid, drop_in_frame, drop_in_reason,
        drop_valid, drop_frame, drop_reason, token_valid, token_queue, token_kind, token_frame};
endmodule
