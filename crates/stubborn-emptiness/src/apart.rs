//! A check whose product is shared by several processes: see [`owcty`](crate::owcty).

use std::sync::{Mutex, MutexGuard, PoisonError};

use stubborn_cluster::Cluster;
use stubborn_search::{Distributed, Limit, SearchError};
use stubborn_store::{Store, StoreError, StoreKind, StoreOptions};
use stubborn_system::FieldKind;

use crate::check::{Check, Setting};
use crate::lasso;
use crate::owcty::{Owcty, Stop, topic};
use crate::pulse::limit_of;
use crate::result::{CheckResult, CheckVerdict};

fn lock(cluster: &Mutex<Cluster>) -> MutexGuard<'_, Cluster> {
    cluster.lock().unwrap_or_else(PoisonError::into_inner)
}

fn no_answer(lost: impl std::fmt::Display) -> SearchError {
    SearchError::NoAnswer(lost.to_string())
}

/// All take the limit that comes first.
fn worst(all: Vec<Vec<u8>>) -> Vec<u8> {
    all.into_iter().max().unwrap_or_default()
}

impl Check<'_> {
    /// How the nodes of this process are stored: by numbers without gaps.
    pub(crate) fn store_apart(&self) -> StoreOptions {
        StoreOptions {
            kind: StoreKind::Plain,
            ..self.store.clone()
        }
    }

    /// All processes begin the same check. Says whether all have room for it.
    pub(crate) fn meet(
        &self,
        cluster: &Mutex<Cluster>,
        store: &Result<Store, StoreError>,
    ) -> Result<Option<Limit>, SearchError> {
        let mut fields = self.system.layout().fields().iter();
        if fields.any(|field| field.kind == FieldKind::Interned) {
            return Err(SearchError::Mismatch(Distributed::INTERNED.into()));
        }
        if self.threads > 1 {
            return Err(SearchError::Mismatch(
                "each process has one thread: say --processes instead of --threads".into(),
            ));
        }
        let own = store.as_ref().err().map_or(0, |e| limit_of(*e) as u8);
        let agreed = lock(cluster).agree(topic::BEGIN, vec![own], worst);
        Ok(limit_in(&agreed.map_err(no_answer)?))
    }

    /// Looks for an accepting cycle together with other processes. The leader gets the
    /// counterexample; all get the verdict.
    pub(crate) fn walk_apart(
        &self,
        cluster: &Mutex<Cluster>,
        setting: &Setting<'_>,
        description: &str,
        result: &mut CheckResult,
    ) -> Result<(), SearchError> {
        let all = setting.watcher.all_marks();
        let mut product = self.product(setting, None);
        let (most, keeper) = (self.limits.states, self.keeper);
        let mut search = Owcty::new(&mut product, cluster, most, keeper);
        let found = search.run(all, description);
        result.counts = search.counts;
        result.verdict = match found {
            Ok(false) => CheckVerdict::Holds,
            Ok(true) => CheckVerdict::Violated,
            Err(Stop::Limit(limit)) => CheckVerdict::Unknown(limit),
            Err(Stop::Lost(lost)) => return Err(no_answer(lost)),
            Err(Stop::Wrong(error)) => return Err(error),
        };
        if result.verdict != CheckVerdict::Violated {
            return Ok(());
        }
        let (states, start) = match search.find_run(all) {
            Ok(Some(run)) => run,
            // Without time or memory for it the violation is real all the same.
            Ok(None) | Err(Stop::Limit(_)) => return Ok(()),
            Err(Stop::Lost(lost)) => return Err(no_answer(lost)),
            Err(Stop::Wrong(error)) => return Err(error),
        };
        drop(search);
        drop(product);
        let system = self.replay.unwrap_or(self.system);
        let fair = self.weak_fairness;
        match lasso::confirm(system, self.property, fair, states, start) {
            Ok(found) => {
                let known = found.length();
                result.counterexample = Some(found);
                self.shorten(setting, known, result)
            }
            Err(SearchError::GaveUp(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// All processes end a check with the same verdict.
    pub(crate) fn agree_on_verdict(
        &self,
        cluster: &Mutex<Cluster>,
        result: &mut CheckResult,
    ) -> Result<(), SearchError> {
        let own = match result.verdict {
            CheckVerdict::Unknown(limit) => limit as u8,
            _ => 0,
        };
        let agreed = lock(cluster).agree(topic::VERDICT, vec![own], worst);
        match limit_in(&agreed.map_err(no_answer)?) {
            Some(Limit::Outgrown) => {
                self.system.budget().outgrow();
                result.verdict = CheckVerdict::Unknown(Limit::Outgrown);
                result.counterexample = None;
            }
            Some(limit) if result.verdict == CheckVerdict::Holds => {
                result.verdict = CheckVerdict::Unknown(limit);
            }
            _ => {}
        }
        Ok(())
    }
}

fn limit_in(agreed: &[u8]) -> Option<Limit> {
    agreed.first().copied().and_then(Limit::of_number)
}
