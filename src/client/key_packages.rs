//! The key package others find: made, published until the service has it, replaced, and its
//! predecessors' keys destroyed (JOIN-074, BR-041).

use crate::base::Topic;
use crate::client::{Inner, load};
use crate::delivery::Outgoing;
use crate::engine::key_packages::KeyPackages;
use crate::error::Error;
use crate::store::rows::{MlsGlobalRow, OfferRow, Row};
use crate::store::{Read, StoreError, Table};
use crate::wire::ClientEnvelope;

impl Inner {
    /// Does what is due about own key packages. Any tab may, as often as it likes.
    ///
    /// # Errors
    /// `delivery.*` when a new one is not published: it is, with the next call.
    pub(super) async fn tend_key_packages(&self) -> Result<(), Error> {
        if !self.installation.borrow().registered || self.is_revoked() {
            return Ok(());
        }
        let Some(offer) = self.unpublished_offer().await? else { return Ok(()) };
        self.delivery.publish(vec![self.envelope_of(&offer)]).await?;
        self.offer_accepted(&offer).await
    }

    /// The key package to publish, durable; `None` when the service has it.
    pub(super) async fn unpublished_offer(&self) -> Result<Option<OfferRow>, Error> {
        self.step(async |step| self.own_key_packages().await?.tend(&self.me, &mut step.unit)).await
    }

    /// What is published of an offer.
    pub(super) fn envelope_of(&self, offer: &OfferRow) -> Outgoing {
        Outgoing {
            topic: Topic::KeyPackage(self.me.installation),
            payload: ClientEnvelope::KeyPackage(offer.package.clone()).encode(),
            identifiers: Vec::new(),
        }
    }

    /// Notes that the service has stored an offer.
    pub(super) async fn offer_accepted(&self, offer: &OfferRow) -> Result<(), Error> {
        self.step(async |step| {
            self.own_key_packages().await?.accepted(&offer.id, &mut step.unit);
            Ok(())
        })
        .await
    }

    /// Key packages as stored now; another tab may have changed them.
    pub(super) async fn own_key_packages(&self) -> Result<KeyPackages, StoreError> {
        let reads = vec![
            Read::Key(Table::Meta, OfferRow::KEY.to_vec()),
            Read::prefix(Table::Mls, MlsGlobalRow::PREFIX),
        ];
        let answers = self.store.read(reads).await?;
        let offer = answers.first().and_then(|records| records.first());
        let offer =
            offer.map(|record| Ok::<_, StoreError>((OfferRow::decode(&record.body)?, record.revision)));
        let keys = load::rows(answers.get(1).map_or(&[], Vec::as_slice))?;
        Ok(KeyPackages { offer: offer.transpose()?, keys })
    }
}
