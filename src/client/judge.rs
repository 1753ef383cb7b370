//! Before a step commits: what the edits and deletions it stores do to messages, whichever of them
//! were stored before (PROC-037); and whether transcripts it stores are there already.

use crate::client::driver::Step;
use crate::client::said::{named, said};
use crate::engine::judge::{Case, judge};
use crate::engine::transcripts::keep_number;
use crate::error::Error;
use crate::store::Read;

impl Step<'_> {
    /// Looks for the transcripts that [`crate::engine::unit::Unit::transcripts`] names.
    pub(super) async fn keep_numbers(&mut self) -> Result<(), Error> {
        let ids = std::mem::take(&mut self.unit.transcripts);
        let stored = self.inner.message_rows(&ids).await?;
        stored.iter().flatten().for_each(|row| keep_number(row, &mut self.unit));
        Ok(())
    }

    /// Looks at every message that [`crate::engine::unit::Unit::judged`] names.
    pub(super) async fn judge(&mut self) -> Result<(), Error> {
        let mut targets = std::mem::take(&mut self.unit.judged);
        targets.sort_unstable();
        targets.dedup();
        let stored = self.inner.message_rows(&targets).await?;
        let cases = targets.into_iter().zip(stored);
        let cases: Vec<Case> = cases.map(|(id, row)| Case::new(id, row, &mut self.unit)).collect();
        let reads: Vec<Vec<Read>> = cases.iter().map(Case::reads).collect();
        let about = match reads.iter().any(|reads| !reads.is_empty()) {
            true => self.inner.annotations(Vec::new(), reads).await?.1,
            false => vec![Vec::new(); reads.len()],
        };
        let ids = named(&about);
        let stored = if ids.is_empty() { Vec::new() } else { self.inner.message_rows(&ids).await? };
        let now = ids.into_iter().zip(stored).map(|(id, row)| self.unit.stored(id).or(row)).collect();
        for (case, said) in cases.into_iter().zip(said(about, now)) {
            judge(case, said, &mut self.threads, &mut self.unit);
        }
        Ok(())
    }
}
