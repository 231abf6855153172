use std::collections::VecDeque;
use std::sync::Arc;

use crate::Interrupt;
use crate::dma::lease::{Lease, Owner};

type Value = Arc<()>;

fn pool(buffers: u16) -> (Owner<Value>, Vec<Lease<Value>>, Value) {
    let value = Arc::new(());
    let kick = Arc::new(Interrupt::new().unwrap());
    let (owner, leases) = Owner::new(Arc::clone(&value), buffers, 2, 4, kick);
    (owner, leases, value)
}

fn collect(owner: &mut Owner<Arc<()>>) -> Vec<Lease<Arc<()>>> {
    let mut leases = VecDeque::new();
    owner.collect(&mut leases);
    leases.into()
}

#[test]
fn a_lease_comes_back_as_itself() {
    let (mut owner, mut leases, value) = pool(6);
    owner.bind();
    drop(leases.remove(2));
    let away = leases.split_off(3);
    std::thread::spawn(move || drop(away)).join().unwrap();
    let mut ids: Vec<u16> = collect(&mut owner).iter().map(Lease::id).collect();
    ids.sort_unstable();
    assert_eq!(ids, [2, 4, 5]);
    assert_eq!(collect(&mut owner).len(), 3, "dropped on the owner's thread");
    assert!(Arc::ptr_eq(&leases[0], &value));
}

#[test]
fn the_last_one_frees_all() {
    let (mut owner, mut leases, value) = pool(6);
    owner.bind();
    drop(leases.split_off(4)); // staged when the owner goes
    let away = leases.split_off(2);
    drop(owner);
    assert_eq!(Arc::strong_count(&value), 2);
    std::thread::spawn(move || drop(away)).join().unwrap();
    drop(leases.pop());
    assert_eq!(Arc::strong_count(&value), 2);
    drop(leases);
    assert_eq!(Arc::strong_count(&value), 1);

    let (owner, leases, value) = pool(6);
    drop(leases);
    drop(owner);
    assert_eq!(Arc::strong_count(&value), 1, "with the owner last");
}

/// The type of a receiver forbids it; nothing breaks all the same.
#[test]
fn an_owner_that_moves_while_bound_leaves_staging_alone() {
    let (mut owner, mut leases, value) = pool(6);
    owner.bind();
    drop(leases.pop());
    let owner = std::thread::spawn(move || {
        owner.bind();
        assert!(collect(&mut owner).is_empty());
        owner.unbind();
        owner
    });
    let mut owner = owner.join().unwrap();
    drop(leases.pop());
    assert_eq!(collect(&mut owner).len(), 2);
    owner.unbind();
    std::thread::spawn(move || drop(owner)).join().unwrap();
    drop(leases);
    assert_eq!(Arc::strong_count(&value), 1);
}
