//! Messages, Welcomes and key packages as MLS meets them: from outside, and with a body that is
//! wrong inside an encryption and a signature that are right.

use dovetail::base::{Nanos, SequenceId};
use dovetail::commit::{self, Ground};
use dovetail::members::States;
use dovetail::meta::component::{ADMIN_LIST, GROUP_MEMBERSHIP, GROUP_NAME};
use dovetail::mls::facts::AppDataOp;
use dovetail::mls::{self, Group, OpenError, Opened, Scratch, SealedWelcome, WelcomeError};
use openmls::prelude::Propose;
use openmls::prelude::tls_codec::Serialize as _;

use crate::common::forge::{self, Body, Changes, Forger, inline};
use crate::mutate::fuzz;
use crate::samples::{conversation, samples};

/// A member and what it reads with.
struct Reader {
    scratch: Scratch,
    group: dovetail::base::GroupId,
}

impl Reader {
    /// Everything a client decides about a message before it would merge it, undone afterwards.
    /// Bytes of others never lead to what is called a bug.
    fn read(&self, data: &[u8]) {
        let savepoint = self.scratch.savepoint();
        let mut group = Group::load(&self.scratch, self.group).expect("loads").expect("a group");
        match self.judge(&mut group, data) {
            Err(OpenError::Bug(what)) => panic!("bytes of others lead to a bug: {what}"),
            Err(OpenError::Scratch(error)) => panic!("bytes of others damage rows: {error}"),
            _ => {}
        }
        self.scratch.restore(&savepoint);
    }

    fn judge(&self, group: &mut Group, data: &[u8]) -> Result<(), OpenError> {
        let client = "1.11.0".parse().expect("a version");
        match mls::open(&self.scratch, group, data)? {
            Opened::Application { .. } => {}
            Opened::Proposal(facts, _) => {
                let _ = commit::judge_standalone(&facts, &group.facts(), &client);
            }
            Opened::Commit(opened) => {
                let before = group.facts().dictionary;
                let after = forge::after(&before, opened.app_data());
                let staged = mls::stage(&self.scratch, group, opened, &after)?;
                let states = States::default();
                let ground = Ground { position: SequenceId(1 << 40), states: &states, client: &client };
                let _ = commit::judge(staged.facts(), &ground);
                let _ = (
                    commit::needed(staged.facts()),
                    commit::transcript::of_commit(staged.facts(), &[].into()),
                );
            }
        }
        Ok(())
    }
}

/// bo, and alice's second device that forges.
fn pair() -> (Reader, Forger) {
    let (_world, users, group) = conversation();
    let reader = Reader { scratch: Forger::of(&users[2]).scratch, group };
    (reader, Forger::of(&users[1]))
}

/// Messages the reader has not seen: of the application, a proposal, a commit.
fn unseen(reader: &Reader, forger: &Forger) -> Vec<Vec<u8>> {
    let rename = Propose::UpdateAppDataComponent { component_id: GROUP_NAME, update: b"name".to_vec() };
    let message = forger.message(reader.group, b"text");
    let commit = forger.raw_commit(reader.group, forge::Raw::write(GROUP_NAME, "name")).bytes;
    forger.drop_commit(reader.group);
    vec![message, commit, forger.propose(reader.group, rename)]
}

#[test]
fn messages_from_outside() {
    let (reader, forger) = pair();
    fuzz("mls_message", &unseen(&reader, &forger), |bytes| {
        let _ = mls::peek(bytes);
        reader.read(bytes);
    });
}

/// Proposals of every kind, and the bodies of commits.
fn proposals(forger: &Forger, reader: &Reader) -> Vec<Vec<u8>> {
    let context = forger.raw(reader.group).extensions().tls_serialize_detached().expect("encodes");
    let mut all: Vec<_> = forge::unused_kinds(&context).into_iter().map(|(_, bytes)| bytes).collect();
    let write = |component, payload: &[u8]| forge::app_data(component, &AppDataOp::Update(payload.to_vec()));
    all.push(write(GROUP_NAME, b"name"));
    all.push(write(ADMIN_LIST, &[3, 0, 0, 1]));
    all.push(write(GROUP_MEMBERSHIP, &[0]));
    all.push(forge::app_data(GROUP_NAME, &AppDataOp::Remove));
    all.push(forge::remove(0));
    all.push(forge::proposal(1, &samples().packages[0]));
    let node = forger.raw(reader.group).own_leaf_node().expect("a leaf").tls_serialize_detached();
    all.push(forge::proposal(2, &node.expect("encodes")));
    all
}

#[test]
fn proposals_signed_by_a_member() {
    let (reader, forger) = pair();
    fuzz("mls_proposal", &proposals(&forger, &reader), |bytes| {
        let savepoint = forger.scratch.savepoint();
        reader.read(&forger.frame(reader.group, &Body::Proposal(bytes), &Changes::default()));
        forger.scratch.restore(&savepoint);
    });
}

#[test]
fn commits_signed_by_a_member() {
    let (reader, forger) = pair();
    let lists: Vec<Vec<u8>> = proposals(&forger, &reader).iter().map(|one| inline(one)).collect();
    let two = lists.iter().map(|one| [&one[..], &lists[7]].concat());
    let samples: Vec<_> = lists.iter().cloned().chain(two).chain([forge::by_reference(&[1; 32])]).collect();
    let before = forger.group(reader.group).facts().dictionary;
    let renamed = forge::after(&before, &[(GROUP_NAME, AppDataOp::Update(b"name".to_vec()))]);
    fuzz("mls_commit", &samples, |bytes| {
        let savepoint = forger.scratch.savepoint();
        let body = Body::Commit(&[bytes.to_vec()], &renamed);
        reader.read(&forger.frame(reader.group, &body, &Changes::default()));
        forger.scratch.restore(&savepoint);
    });
}

#[test]
fn commits_with_a_path_signed_by_a_member() {
    let (reader, forger) = pair();
    let path = forger.path(reader.group);
    let before = forger.group(reader.group).facts().dictionary;
    fuzz("mls_path", &[path], |bytes| {
        let savepoint = forger.scratch.savepoint();
        let body = Body::Whole(bytes, &before);
        reader.read(&forger.frame(reader.group, &body, &Changes::default()));
        forger.scratch.restore(&savepoint);
    });
}

#[test]
fn welcomes_and_key_packages() {
    let mut scratch = Scratch::new();
    scratch.load_globals(samples().globals.clone());
    let scratch = &scratch;
    fuzz("key_package", &samples().packages, |bytes| {
        let _ = mls::check_key_package(scratch, bytes, Nanos(1));
    });
    let is_bug = |error: &WelcomeError| matches!(error, WelcomeError::Bug(_) | WelcomeError::Scratch(_));
    let sealed: Vec<_> = samples().welcomes.iter().map(|(data, ..)| data.clone()).collect();
    fuzz("sealed_welcome", &sealed, |bytes| {
        for (_, metadata, key) in &samples().welcomes {
            for (data, metadata) in [(bytes, &metadata[..]), (metadata, bytes)] {
                let sealed = SealedWelcome { data: data.to_vec(), metadata: metadata.to_vec() };
                let opened = mls::unwrap_welcome(scratch, &sealed, key);
                assert!(!opened.is_err_and(|error| is_bug(&error)));
            }
            let pointer = mls::unwrap_pointer(scratch, bytes, key);
            assert!(!pointer.is_err_and(|error| is_bug(&error)));
        }
    });
    let opened: Vec<_> = samples()
        .welcomes
        .iter()
        .filter_map(|(data, metadata, key)| {
            let sealed = SealedWelcome { data: data.clone(), metadata: metadata.clone() };
            mls::unwrap_welcome(scratch, &sealed, key).ok().map(|(welcome, _)| welcome)
        })
        .collect();
    fuzz("welcome", &opened, |bytes| {
        let looked = mls::inspect(scratch, bytes, 7);
        assert!(!looked.is_err_and(|error| is_bug(&error)));
    });
}
