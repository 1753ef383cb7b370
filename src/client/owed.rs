//! Publishes the Welcomes an applied commit owes, until every added installation is served.
//!
//! Progress is written down after every request, so a page that dies goes on where it was. A
//! request the service refuses for good is tried again one by one: one installation's Welcome
//! never stops the others'.

use crate::base::GroupId;
use crate::client::Inner;
use crate::delivery::DeliveryError;
use crate::engine::settle;
use crate::engine::welcomes::{self, Parcel};
use crate::error::Error;
use crate::store::rows::{IntentState, OwedWelcome};
use crate::wire::{AEAD_CHACHA20_POLY1305, WelcomePointerV1};

impl Inner {
    /// Publishes what an applied commit owes.
    ///
    /// # Errors
    /// `delivery.unavailable`, `delivery.invalid`: what is left is published by the next run.
    pub(super) async fn publish_welcomes(&self, group: GroupId, number: u64) -> Result<(), Error> {
        while let Some(owed) = self.owed(group, number).await? {
            let mut answers = Answers::default();
            let handed = self.hand_over(welcomes::next(&owed)?, &mut answers).await;
            // Without an answer nothing is known of it: it is made again.
            if !answers.stored.is_empty() || !answers.refused.is_empty() {
                self.note_answers(group, number, &answers).await?;
            }
            handed?;
        }
        Ok(())
    }

    async fn note_answers(&self, group: GroupId, number: u64, answers: &Answers) -> Result<(), Error> {
        self.step(async |step| {
            let Some(mut ctx) = step.take_group(group).await? else { return Ok(()) };
            welcomes::answered(&mut ctx, number, &answers.stored, &answers.refused, &mut step.unit);
            step.keep_group(ctx);
            Ok(())
        })
        .await
    }

    /// What is still owed; where a shared Welcome goes is decided, and durable, before.
    async fn owed(&self, group: GroupId, number: u64) -> Result<Option<OwedWelcome>, Error> {
        self.step(async |step| {
            let Some(mut ctx) = step.take_group(group).await? else { return Ok(None) };
            let intent = ctx.intents.get(&number).filter(|intent| intent.state == IntentState::Committed);
            let mut owed = None;
            if let Some(mut intent) = intent.cloned() {
                if let Some(open) = intent.welcome.as_mut().filter(|owed| welcomes::lacks_pointer(owed)) {
                    open.pointer = Some(self.random_pointer().encode());
                    ctx.put_intent(intent.clone(), &mut step.unit);
                    step.unit.changes.strict();
                }
                owed = intent.welcome.filter(|owed| !owed.recipients.is_empty());
                if owed.is_none() {
                    settle::completed(&mut ctx, number, &mut step.unit);
                }
            }
            step.keep_group(ctx);
            Ok(owed)
        })
        .await
    }

    fn random_pointer(&self) -> WelcomePointerV1 {
        let mut pointer = WelcomePointerV1 {
            destination: [0; 32],
            aead_type: AEAD_CHACHA20_POLY1305,
            encryption_key: [0; 32],
            data_nonce: [0; 12],
            metadata_nonce: [0; 12],
        };
        self.platform.random(&mut pointer.destination);
        self.platform.random(&mut pointer.encryption_key);
        self.platform.random(&mut pointer.data_nonce);
        self.platform.random(&mut pointer.metadata_nonce);
        // Never equal: both seal under one key.
        pointer.metadata_nonce[0] = !pointer.data_nonce[0];
        pointer
    }

    /// Hands a request over, whole or, when it is refused, envelope by envelope.
    async fn hand_over(&self, parcels: Vec<Parcel>, answers: &mut Answers) -> Result<(), Error> {
        let one = parcels.len() == 1;
        let batch = parcels.iter().map(|parcel| parcel.outgoing.clone()).collect();
        match self.delivery.publish(batch).await {
            Ok(_) => answers.stored = parcels,
            Err(DeliveryError::Refused(_)) if one => answers.refused = parcels,
            Err(DeliveryError::Refused(_)) => {
                for parcel in parcels {
                    match self.delivery.publish(vec![parcel.outgoing.clone()]).await {
                        Ok(_) => answers.stored.push(parcel),
                        Err(DeliveryError::Refused(_)) => {
                            // Pointers to what is not there are not handed out.
                            let shared = parcel.to.is_none();
                            answers.refused.push(parcel);
                            if shared {
                                return Ok(());
                            }
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// What the service said of a request.
#[derive(Default)]
struct Answers {
    stored: Vec<Parcel>,
    refused: Vec<Parcel>,
}
