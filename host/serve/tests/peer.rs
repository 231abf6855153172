//! The server against a client that was not written here: `vfio_user` of rust-vmm.

mod support;

use std::os::fd::AsRawFd;

use groove_driver::{DmaMemory, Interrupt};
use groove_serve::{DEVICE_ID, VENDOR_ID};
use groove_spec::SPEC_ID;
use support::Served;
use vfio_bindings::bindings::vfio::{
    VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_IRQ_SET_DATA_EVENTFD, VFIO_PCI_BAR0_REGION_INDEX,
    VFIO_PCI_CONFIG_REGION_INDEX, VFIO_PCI_MSIX_IRQ_INDEX,
};
use vfio_user::Client;

fn read(client: &mut Client, region: u32, offset: u64) -> u32 {
    let mut word = [0; 4];
    client.region_read(region, offset, &mut word).unwrap();
    u32::from_le_bytes(word)
}

#[test]
fn a_client_of_somebody_else_finds_the_function() {
    let served = Served::new();
    let mut client = Client::new(&served.path).unwrap();
    let ids = u32::from(DEVICE_ID) << 16 | u32::from(VENDOR_ID);
    assert_eq!(read(&mut client, VFIO_PCI_CONFIG_REGION_INDEX, 0), ids);
    assert_eq!(client.region(VFIO_PCI_BAR0_REGION_INDEX).unwrap().size, 0x2000);
    assert_eq!(read(&mut client, VFIO_PCI_BAR0_REGION_INDEX, 0), u32::MAX, "no memory space yet");
    client.region_write(VFIO_PCI_CONFIG_REGION_INDEX, 4, &[6, 0]).unwrap();
    assert_eq!(read(&mut client, VFIO_PCI_BAR0_REGION_INDEX, 0), SPEC_ID);

    let irq = client.get_irq_info(VFIO_PCI_MSIX_IRQ_INDEX).unwrap();
    assert_eq!(irq.count, 4);
    let vector = Interrupt::new().unwrap();
    let flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
    let files = [vector.file().as_raw_fd()];
    client.set_irqs(VFIO_PCI_MSIX_IRQ_INDEX, flags, 2, 1, &files).unwrap();

    let memory = DmaMemory::new(1 << 16).unwrap();
    client.dma_map(0, 0x10_0000, 1 << 16, memory.file().as_raw_fd()).unwrap();
    client.dma_unmap(0x10_0000, 1 << 16).unwrap();
    client.reset().unwrap();
    assert_eq!(read(&mut client, VFIO_PCI_BAR0_REGION_INDEX, 0), u32::MAX);
    client.shutdown().unwrap();
    served.event("Gone");
}
