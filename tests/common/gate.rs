//! Stands between a client and its store and service: counts calls, kills the page at a chosen one,
//! and watches what is handed out.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::task::Poll;

use dovetail::base::{GroupId, InboxId, SequenceId, Topic, sha256};
use dovetail::consent::Entity;
use dovetail::delivery::{
    Delivery, DeliveryError, Incoming, MemoryDelivery, Outgoing, Receipt, Subscription, Wake,
};
use dovetail::store::rows::{AttemptRow, ConsentRow, IntentRow, IntentState, OfferRow, Row};
use dovetail::store::{Changes, MemoryStore, Read, Record, Store, StoreError, Table, Write};
use dovetail::wire::{ClientEnvelope, WelcomeAlgorithm, WelcomeInput, WelcomePointerV1};
use futures::FutureExt;
use futures::future::LocalBoxFuture;

/// What goes wrong, and at which call counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// The page dies instead of the k-th write.
    KillBeforeApply(u64),
    /// The page dies right behind the k-th write.
    KillAfterApply(u64),
    /// The k-th write fails.
    FailApply(u64, StoreError),
    /// The page dies before the k-th call of the service gets through.
    KillBeforeCall(u64),
    /// The page dies once the service has done the k-th call.
    KillAfterCall(u64),
    /// The k-th call does not get through.
    FailCall(u64),
    /// The service does the k-th call and the answer is lost.
    LoseAnswer(u64),
}

/// Something handed to the service.
#[derive(Clone, Debug)]
pub struct Handed {
    pub topic: Topic,
    pub payload: Vec<u8>,
}

/// Changes what a query answers, for lies about single topics.
pub type Twist = Rc<dyn Fn(&[(Topic, SequenceId)], Vec<Incoming>) -> Result<Vec<Incoming>, DeliveryError>>;

/// Chooses what the service refuses.
pub type Refuse = Rc<dyn Fn(&Outgoing) -> bool>;
/// Told of a write right before it happens.
pub type Between = Rc<dyn Fn(&Changes)>;

/// One life of a page.
#[derive(Default)]
pub struct Gate {
    plan: RefCell<Option<Plan>>,
    applies: Cell<u64>,
    calls: Cell<u64>,
    publishes: Cell<u64>,
    dead: Cell<bool>,
    /// Everything handed to the service, by every life of the page.
    pub handed: Rc<RefCell<Vec<Handed>>>,
    /// Changes answers of queries.
    pub twist: RefCell<Option<Twist>>,
    /// A batch with one of these is refused for good.
    pub refuse: RefCell<Option<Refuse>>,
    /// Runs right before a write: the moment at which another tab gets in between.
    pub between: RefCell<Option<Between>>,
    /// Nothing that is handed out is looked at: for crowds and for figures.
    pub unwatched: bool,
    /// Batches the service refused.
    pub refused: Cell<u32>,
    /// Lets other tasks go first, a random few times before each call: the state of the chance that
    /// says how often, shared by all lives of the page; 0 for never.
    pub jitter: Rc<Cell<u64>>,
    /// What was decided about with a clock behind the record stored then, by any life of the page: the
    /// decision is stored all the same (CONS-011), and loses every merge.
    pub set_back: Rc<RefCell<BTreeSet<Entity>>>,
}

enum Fate {
    Go,
    Die,
    DieAfter,
    Fail(StoreError),
    Unavailable,
    Lose,
}

impl Gate {
    /// One that lets everything through and looks at nothing.
    pub fn unwatched() -> Self {
        Self { unwatched: true, ..Self::default() }
    }

    /// A new life that goes on with the record of an older one.
    pub fn again(&self) -> Self {
        let (handed, jitter) = (self.handed.clone(), self.jitter.clone());
        let set_back = self.set_back.clone();
        Self { handed, jitter, set_back, unwatched: self.unwatched, ..Self::default() }
    }

    /// Starts counting at 0, with what shall go wrong.
    pub fn plan(&self, plan: Option<Plan>) {
        self.applies.set(0);
        self.calls.set(0);
        *self.plan.borrow_mut() = plan;
    }

    /// How often something was handed out.
    pub fn publishes(&self) -> u64 {
        self.publishes.get()
    }

    /// Writes and calls since the count began.
    pub fn counts(&self) -> (u64, u64) {
        (self.applies.get(), self.calls.get())
    }

    pub fn is_dead(&self) -> bool {
        self.dead.get()
    }

    fn apply_fate(&self) -> Fate {
        let at = self.applies.replace(self.applies.get() + 1);
        match &*self.plan.borrow() {
            _ if self.dead.get() => Fate::Die,
            Some(Plan::KillBeforeApply(k)) if *k == at => Fate::Die,
            Some(Plan::KillAfterApply(k)) if *k == at => Fate::DieAfter,
            Some(Plan::FailApply(k, error)) if *k == at => Fate::Fail(error.clone()),
            _ => Fate::Go,
        }
    }

    fn call_fate(&self) -> Fate {
        let at = self.calls.replace(self.calls.get() + 1);
        match &*self.plan.borrow() {
            _ if self.dead.get() => Fate::Die,
            Some(Plan::KillBeforeCall(k)) if *k == at => Fate::Die,
            Some(Plan::KillAfterCall(k)) if *k == at => Fate::DieAfter,
            Some(Plan::FailCall(k)) if *k == at => Fate::Unavailable,
            Some(Plan::LoseAnswer(k)) if *k == at => Fate::Lose,
            _ => Fate::Go,
        }
    }

    /// Lets other tasks go first.
    async fn give_way(&self) {
        let state = self.jitter.get();
        if state == 0 {
            return;
        }
        let next = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        self.jitter.set(next.max(1));
        for _ in 0..(next >> 33) % 4 {
            yield_once().await;
        }
    }

    /// A dead page never goes on.
    async fn die<T>(&self) -> T {
        self.dead.set(true);
        futures::future::pending().await
    }
}

/// Everything else that can go on does, before the caller does.
async fn yield_once() {
    let mut yielded = false;
    futures::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The store behind a gate.
pub struct GatedStore {
    pub rows: MemoryStore,
    pub gate: Rc<Gate>,
}

impl GatedStore {
    async fn write(&self, changes: Changes) -> Result<(), StoreError> {
        let set_back = if self.gate.unwatched { Vec::new() } else { self.set_back(&changes) };
        self.rows.apply(changes).await?;
        self.gate.set_back.borrow_mut().extend(set_back);
        Ok(())
    }

    /// What is decided about with an older record than the one that is stored.
    fn set_back(&self, changes: &Changes) -> Vec<Entity> {
        let record = |body: &[u8]| ConsentRow::decode(body).expect("decodes").0;
        let lowered = changes.writes.iter().filter_map(|write| match write {
            Write::Put { table: Table::Consent, key, body, .. } => {
                let read = vec![Read::Key(Table::Consent, key.clone())];
                let stored = self.rows.reopen().read(read).now_or_never().expect("ready").expect("rows");
                let (old, new) = (record(&stored[0].first()?.body), record(body));
                (new.rank() < old.rank()).then_some(new.entity)
            }
            _ => None,
        });
        lowered.collect()
    }
}

impl Store for GatedStore {
    fn read(&self, reads: Vec<Read>) -> LocalBoxFuture<'_, Result<Vec<Vec<Record>>, StoreError>> {
        async move {
            self.gate.give_way().await;
            if self.gate.dead.get() {
                return self.gate.die().await;
            }
            self.rows.read(reads).await
        }
        .boxed_local()
    }

    fn apply(&self, changes: Changes) -> LocalBoxFuture<'_, Result<(), StoreError>> {
        async move {
            let between = self.gate.between.borrow().clone();
            if let Some(between) = between {
                between(&changes);
            }
            self.gate.give_way().await;
            match self.gate.apply_fate() {
                Fate::Die => self.gate.die().await,
                Fate::DieAfter => {
                    let _ = self.write(changes).await;
                    self.gate.die().await
                }
                Fate::Fail(error) => Err(error),
                _ => self.write(changes).await,
            }
        }
        .boxed_local()
    }

    fn close(&self) -> LocalBoxFuture<'_, ()> {
        self.rows.close()
    }
}

/// The service behind a gate.
pub struct GatedDelivery {
    pub link: Rc<MemoryDelivery>,
    pub rows: MemoryStore,
    pub gate: Rc<Gate>,
}

impl GatedDelivery {
    async fn pass<T>(&self, call: LocalBoxFuture<'_, Result<T, DeliveryError>>) -> Result<T, DeliveryError> {
        self.gate.give_way().await;
        match self.gate.call_fate() {
            Fate::Die => self.gate.die().await,
            Fate::Unavailable => Err(DeliveryError::Unavailable("told to fail".into())),
            Fate::DieAfter => {
                let _ = call.await;
                self.gate.die().await
            }
            Fate::Lose => {
                let _ = call.await;
                Err(DeliveryError::Unavailable("told to lose the answer".into()))
            }
            _ => {
                let answer = call.await;
                if self.gate.dead.get() { self.gate.die().await } else { answer }
            }
        }
    }

    /// No byte leaves before it is durable: what a group's topic gets is a stored attempt, and a
    /// Welcome is owed by a commit that was read back and applied (GMOD-018).
    fn watch(&self, batch: &[Outgoing]) {
        for Outgoing { topic, payload, .. } in batch {
            match topic {
                Topic::Group(group) => {
                    let key = [group.as_bytes(), sha256(payload).as_slice()].concat();
                    let durable = self.rows_of::<AttemptRow>(Read::Key(Table::Attempts, key));
                    let known = self.gate.handed.borrow().iter().any(|old| old.payload == *payload);
                    assert!(
                        known || durable.iter().any(|row| row.payload == *payload),
                        "left before it was durable"
                    );
                }
                Topic::Welcome(_) => {
                    let intents = self.rows_of::<IntentRow>(Read::prefix(Table::Intents, &[]));
                    let owed = |row: &IntentRow| {
                        row.state == IntentState::Committed
                            && row.welcome.as_ref().is_some_and(|owed| owed.anchor > SequenceId(0))
                    };
                    // Another tab may have handed it out and settled it a moment ago.
                    let again = self.gate.handed.borrow().iter().any(|old| old.topic == *topic);
                    assert!(
                        again || intents.iter().any(owed),
                        "a Welcome left before its commit was read back"
                    );
                    let known = |row: &IntentRow| {
                        let pointer = row.welcome.as_ref().and_then(|owed| owed.pointer.as_deref());
                        let pointer =
                            pointer.map(|bytes| WelcomePointerV1::decode(bytes).expect("a pointer"));
                        pointer.is_some_and(|pointer| Topic::Welcome(pointer.destination) == *topic)
                    };
                    let shared = payload_is_shared(payload);
                    assert!(
                        !shared || again || intents.iter().any(known),
                        "shared before its key was durable"
                    );
                }
                Topic::KeyPackage(_) => {
                    let offers = self.rows_of::<OfferRow>(Read::Key(Table::Meta, OfferRow::KEY.to_vec()));
                    let package = ClientEnvelope::KeyPackage(offers[0].package.clone()).encode();
                    assert!(package == *payload, "a key package left that is not the durable offer");
                }
                _ => {}
            }
            self.gate.handed.borrow_mut().push(Handed { topic: *topic, payload: payload.clone() });
        }
    }

    fn rows_of<R: Row>(&self, read: Read) -> Vec<R> {
        let answer = self.rows.reopen().read(vec![read]).now_or_never().expect("ready").expect("rows");
        answer[0].iter().map(|record| R::decode(&record.body).expect("decodes")).collect()
    }
}

impl Delivery for GatedDelivery {
    fn publish(&self, batch: Vec<Outgoing>) -> LocalBoxFuture<'_, Result<Vec<Receipt>, DeliveryError>> {
        async move {
            self.gate.publishes.set(self.gate.publishes.get() + 1);
            if !self.gate.dead.get() && !self.gate.unwatched {
                self.watch(&batch);
            }
            let refuse = self.gate.refuse.borrow().clone();
            if refuse.is_some_and(|refuse| batch.iter().any(|one| refuse(one))) {
                let refused = async { Err(DeliveryError::Refused("told to refuse this".into())) };
                return self.pass(refused.boxed_local()).await;
            }
            let answer = self.pass(self.link.publish(batch)).await;
            if matches!(answer, Err(DeliveryError::Refused(_))) {
                self.gate.refused.set(self.gate.refused.get() + 1);
            }
            answer
        }
        .boxed_local()
    }

    fn query(
        &self,
        topics: Vec<(Topic, SequenceId)>,
        limit: u32,
    ) -> LocalBoxFuture<'_, Result<Vec<Incoming>, DeliveryError>> {
        async move {
            let answer = self.pass(self.link.query(topics.clone(), limit)).await?;
            let twist = self.gate.twist.borrow().clone();
            match twist {
                Some(twist) => twist(&topics, answer),
                None => Ok(answer),
            }
        }
        .boxed_local()
    }

    fn newest(&self, topics: Vec<Topic>) -> LocalBoxFuture<'_, Result<Vec<Option<Incoming>>, DeliveryError>> {
        self.pass(self.link.newest(topics)).boxed_local()
    }

    fn lookup(&self, names: Vec<String>) -> LocalBoxFuture<'_, Result<Vec<Vec<InboxId>>, DeliveryError>> {
        self.pass(self.link.lookup(names)).boxed_local()
    }

    fn subscribe(&self, topics: Vec<Topic>, wake: Wake) -> Subscription {
        self.link.subscribe(topics, wake)
    }
}

/// True for a Welcome that several installations share.
pub fn payload_is_shared(payload: &[u8]) -> bool {
    matches!(
        ClientEnvelope::decode(payload),
        Ok(ClientEnvelope::Welcome(WelcomeInput::V1 { algorithm: WelcomeAlgorithm::SymmetricKey, .. }))
    )
}

/// The distinct payloads handed out for a group, in order.
pub fn distinct(handed: &[Handed], group: GroupId) -> Vec<Vec<u8>> {
    let mut out: Vec<Vec<u8>> = Vec::new();
    for one in handed.iter().filter(|one| one.topic == Topic::Group(group)) {
        if !out.contains(&one.payload) {
            out.push(one.payload.clone());
        }
    }
    out
}
