//! Proposals as bytes (RFC 9420 section 12.1 and the extensions draft), of every kind there is.

use dovetail::mls::facts::AppDataOp;

use super::frame::vl;

/// A Proposal of a kind with its body.
pub fn proposal(kind: u16, body: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], body].concat()
}

/// An AppDataUpdate.
pub fn app_data(component: u16, op: &AppDataOp) -> Vec<u8> {
    let op = match op {
        AppDataOp::Update(payload) => [vec![1], vl(payload)].concat(),
        AppDataOp::Remove => vec![2],
    };
    proposal(8, &[&component.to_be_bytes()[..], &op].concat())
}

/// A Remove of a leaf.
pub fn remove(leaf: u32) -> Vec<u8> {
    proposal(3, &leaf.to_be_bytes())
}

/// One proposal of each kind that is not in use, with the kind's name. `context` are the encoded
/// extensions of the group's context.
pub fn unused_kinds(context: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let reinit = [vl(&[9; 16]), vec![0, 1, 0, 3], vl(&[])].concat();
    vec![
        ("GroupContextExtensions", proposal(7, context)),
        ("PreSharedKey", proposal(4, &[vec![1], vl(b"id"), vl(&[7; 32])].concat())),
        ("ReInit", proposal(5, &reinit)),
        ("ExternalInit", proposal(6, &vl(&[5; 32]))),
        ("SelfRemove", proposal(10, &[])),
        ("AppEphemeral", proposal(9, &[&[0xc0, 1][..], &vl(b"data")].concat())),
        ("Custom", proposal(0xf042, &vl(b"own"))),
    ]
}

/// A proposal inside a commit.
pub fn inline(proposal: &[u8]) -> Vec<u8> {
    [&[1][..], proposal].concat()
}

/// A proposal named by a commit.
pub fn by_reference(reference: &[u8]) -> Vec<u8> {
    [vec![2], vl(reference)].concat()
}
