//! Numbers of the kernel's VFIO interface, which vfio-user took over.
//!
//! Follows: `include/uapi/linux/vfio.h` of Linux 6.12.

/// Region of the configuration space; BARs 0 to 5 are regions 0 to 5.
pub const CONFIG_REGION: u32 = 7;
/// Regions of a PCI function: BARs, ROM, configuration space, VGA.
pub const REGIONS: u32 = 9;
/// Interrupts of a PCI function: INTx, MSI, MSI-X, error, request.
pub const IRQS: u32 = 5;
/// MSI-X among them.
pub const MSIX: u32 = 2;
/// Errors of the bus that cannot be corrected (PCIe AER).
pub const IRQ_ERROR: u32 = 3;
/// The kernel wants the function back.
pub const IRQ_REQUEST: u32 = 4;

/// A device that can be reset.
pub const DEVICE_RESET: u32 = 1 << 0;
/// A device that is a PCI function.
pub const DEVICE_PCI: u32 = 1 << 1;

/// A region that can be read.
pub const REGION_READ: u32 = 1 << 0;
/// A region that can be written.
pub const REGION_WRITE: u32 = 1 << 1;
/// A region that can be mapped.
pub const REGION_MMAP: u32 = 1 << 2;

/// An interrupt that signals an event file.
pub const IRQ_EVENTFD: u32 = 1 << 0;
/// An interrupt whose number of vectors is fixed once it is on.
pub const IRQ_NORESIZE: u32 = 1 << 3;

/// `SET_IRQS` without data.
pub const SET_DATA_NONE: u32 = 1 << 0;
/// `SET_IRQS` with one byte for each vector.
pub const SET_DATA_BOOL: u32 = 1 << 1;
/// `SET_IRQS` with an event file for each vector.
pub const SET_DATA_EVENTFD: u32 = 1 << 2;
/// `SET_IRQS` masks.
pub const SET_MASK: u32 = 1 << 3;
/// `SET_IRQS` unmasks.
pub const SET_UNMASK: u32 = 1 << 4;
/// `SET_IRQS` says what is signalled, or signals.
pub const SET_TRIGGER: u32 = 1 << 5;

/// PCI command register: memory space and bus master.
pub const COMMAND_OFFSET: u64 = 4;
/// The function answers at its BARs.
pub const COMMAND_MEMORY: u32 = 1 << 1;
/// The function may read and write memory, and so send MSI-X.
pub const COMMAND_MASTER: u32 = 1 << 2;
