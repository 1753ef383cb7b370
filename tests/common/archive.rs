//! Archives in native tests: made and read as the package's JavaScript does it, batch by batch.

use dovetail::archive::container::Writer;
use dovetail::archive::export::{Export, Options};
use dovetail::archive::import::Import;
use dovetail::base::{GroupId, InboxId, InstallationId, MessageId, Nanos};
use dovetail::client::{Chunk, Part};
use dovetail::error::Error;
use dovetail::wire::{
    ArchiveMetadata, ArchivedGroup, ArchivedKind, ArchivedMessage, ConsentSave, ContentType, Element,
    EncodedContent,
};

use super::User;

pub const KEY: [u8; 32] = [7; 32];
pub const NONCE: [u8; 12] = [0xfe; 12];
/// Elements of a batch: few, so that small archives have several.
const BATCH: usize = 5;

/// Everything.
pub fn all() -> Options {
    Options { messages: true, consent: true, ..Options::default() }
}

/// How an import ended.
#[derive(Debug)]
pub struct Imported {
    pub result: Result<(), Error>,
}

impl Imported {
    pub fn ok(self) {
        self.result.expect("imported");
    }

    pub fn code(&self) -> &'static str {
        self.result.as_ref().expect_err("refused").code
    }
}

/// The metadata a test's archive begins with.
pub fn metadata() -> Element {
    Element::Metadata(ArchiveMetadata { elements: vec![1, 2], ..ArchiveMetadata::default() })
}

/// An archive of these elements behind its metadata.
pub fn archive_of(elements: &[Element]) -> Vec<u8> {
    let mut writer = Writer::new(&KEY, NONCE).expect("a key");
    writer.push(&metadata().encode()).expect("written");
    for element in elements {
        writer.push(&element.encode()).expect("written");
    }
    writer.finish()
}

/// The elements of an archive.
pub fn elements_of(archive: &[u8]) -> Vec<Element> {
    use dovetail::archive::container::{Frame, Reader};
    let mut reader = Reader::open(archive.to_vec(), &KEY).expect("an archive");
    let mut elements = Vec::new();
    loop {
        match reader.step().expect("an element") {
            Frame::Element(bytes) => elements.push(Element::decode(&bytes).expect("an element")),
            Frame::More => {}
            Frame::End => return elements,
        }
    }
}

pub fn group(id: GroupId, creator: InboxId) -> ArchivedGroup {
    ArchivedGroup {
        id,
        kind: ArchivedKind::Group,
        created_ns: Nanos(10),
        membership_state: 1,
        adder: creator,
        creator,
        last_message_ns: None,
        disappear_from_ns: 0,
        disappear_in_ns: 0,
        attributes: Default::default(),
        admins: Vec::new(),
        super_admins: Vec::new(),
    }
}

pub fn said(id: u8, group: GroupId, sender: InboxId, at: i64) -> ArchivedMessage {
    ArchivedMessage {
        id: MessageId([id; 32]),
        group,
        content: EncodedContent::text(&format!("archived {id}")).encode(),
        content_type: ContentType::xmtp("text", 1, 0),
        sent_ns: Nanos(at),
        transcript: false,
        published: true,
        sender_inbox: sender,
        sender_installation: InstallationId([0xd0; 32]),
        sequence_id: None,
        expires_ns: Some(None),
    }
}

pub fn decided(entity_type: i32, entity: &str, state: i32, at: i64) -> Element {
    Element::Consent(ConsentSave { entity_type, state, entity: entity.to_owned(), consented_at_ns: at })
}

impl User {
    /// An archive of what this device holds.
    pub fn export(&self, options: Options) -> Vec<u8> {
        self.export_with(options, &KEY).expect("exported")
    }

    pub fn export_with(&self, options: Options, key: &[u8]) -> Result<Vec<u8>, Error> {
        self.risk_export(options, key).expect("the page lives")
    }

    /// The same; `None` when the page dies meanwhile.
    pub fn risk_export(&self, options: Options, key: &[u8]) -> Option<Result<Vec<u8>, Error>> {
        let parts = [
            (options.messages, Part::Groups),
            (options.messages, Part::Messages),
            (options.consent, Part::Consent),
        ];
        let mut export = match Export::begin(options, key, NONCE, self.client_now()) {
            Ok(export) => export,
            Err(error) => return Some(Err(error)),
        };
        let mut archive = Vec::new();
        for (_, part) in parts.into_iter().filter(|(wanted, _)| *wanted) {
            let mut from = None;
            loop {
                let begin = from.take();
                let chunk: Chunk = self
                    .risk(move |client| async move { client.archive_rows(part, begin, 3).await })?
                    .expect("rows");
                export.add(&chunk.rows).expect("rows");
                archive.extend(export.take());
                from = chunk.next;
                if from.is_none() {
                    break;
                }
            }
        }
        archive.extend(export.finish());
        Some(Ok(archive))
    }

    /// Imports an archive to its end, or to where it is refused.
    pub fn import(&self, archive: &[u8]) -> Imported {
        self.import_with(archive, &KEY)
    }

    pub fn import_with(&self, archive: &[u8], key: &[u8]) -> Imported {
        Imported { result: self.risk_import(archive, key).expect("the page lives") }
    }

    /// Imports an archive, so many elements at once.
    pub fn import_by(&self, archive: &[u8], batch: usize) -> Imported {
        Imported { result: self.risk_import_by(archive, &KEY, batch).expect("the page lives") }
    }

    /// The same; `None` when the page dies meanwhile.
    pub fn risk_import(&self, archive: &[u8], key: &[u8]) -> Option<Result<(), Error>> {
        self.risk_import_by(archive, key, BATCH)
    }

    fn risk_import_by(&self, archive: &[u8], key: &[u8], batch: usize) -> Option<Result<(), Error>> {
        let mut import = match Import::begin(archive.to_vec(), key) {
            Ok(import) => import,
            Err(error) => return Some(Err(error)),
        };
        loop {
            let rows = match import.read(batch) {
                Ok(rows) => rows,
                Err(error) => return Some(Err(error)),
            };
            let end = rows.is_none();
            let rows = rows.unwrap_or_default();
            let apply = move |client: dovetail::client::Client| async move {
                client.import_rows(&rows, end.then_some(true)).await
            };
            match self.risk(apply)? {
                Ok(()) if !end => {}
                result => return Some(result),
            }
        }
    }

    fn client_now(&self) -> Nanos {
        use dovetail::base::Platform as _;
        self.device.now()
    }
}
