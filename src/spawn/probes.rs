//! The gate's questions, answered from real files under one deadline, with what was seen kept as
//! evidence.

use super::deadline::Deadline;
use crate::claude::dirs::{Compare, Places, head_login, head_project};
use crate::claude::probes;
use crate::explain::Note;
use crate::gate::facts::{FactValue, ForkRecord, HeadBusy, HeadFile, HeadLogin, HeadProject, HeadRecord};
use crate::gate::{Evidence, GateInput, Head, Probes};
use crate::process::ProcessTable;
use std::cell::RefCell;

/// Answers from the disk. What misses the deadline gets the value that stands for "could not be
/// had", and a note says so.
#[derive(Debug)]
pub struct DiskProbes {
    places: Places,
    processes: ProcessTable,
    deadline: Deadline,
    seen: RefCell<Vec<Evidence>>,
    notes: RefCell<Vec<Note>>,
}

impl DiskProbes {
    /// Answers from the disk until `deadline`.
    #[must_use]
    pub fn new(places: Places, processes: ProcessTable, deadline: Deadline) -> Self {
        Self { places, processes, deadline, seen: RefCell::default(), notes: RefCell::default() }
    }

    /// What was seen so far, in the order it was asked, and the notes about it.
    #[must_use]
    pub fn into_evidence(self) -> (Vec<Evidence>, Vec<Note>) {
        (self.seen.into_inner(), self.notes.into_inner())
    }

    /// A comparison at the disk, or by spelling if that takes too long.
    fn compare<V: FactValue + Send + 'static>(
        &self,
        compare: impl Fn(&Places, Compare) -> V + Clone + Send + 'static,
    ) -> V {
        let (places, at_disk) = (self.places.clone(), compare.clone());
        self.deadline.run(move || at_disk(&places, Compare::AtDisk)).unwrap_or_else(|| {
            self.missed::<V>("was compared by spelling");
            compare(&self.places, Compare::BySpelling)
        })
    }

    /// A probe's answer, or `otherwise` if it takes too long.
    fn probe<V: FactValue + Into<&'static str> + Send + 'static>(
        &self,
        otherwise: V,
        look: impl FnOnce(&Places) -> (V, Evidence) + Send + 'static,
    ) -> V {
        let places = self.places.clone();
        let (value, evidence) = self.deadline.run(move || look(&places)).unwrap_or_else(|| {
            self.missed::<V>(&format!("counts as {}", otherwise.into()));
            let evidence = Evidence {
                fact: V::FACT,
                value: otherwise.into(),
                path: None,
                size: None,
                recorded: None,
                error: Some("no answer within the budget".to_owned()),
            };
            (otherwise, evidence)
        });
        self.seen.borrow_mut().push(evidence);
        value
    }

    fn missed<V: FactValue>(&self, consequence: &str) {
        let text = format!("looking for `{}` took longer than the budget, so it {consequence}", V::FACT.name());
        self.notes.borrow_mut().push(Note::new("deadline-missed", text));
    }
}

impl Probes for DiskProbes {
    fn head_login(&self, head: &Head, input: &GateInput) -> HeadLogin {
        let (recorded, own) = (head.config_dir.clone(), input.config_dir.clone());
        self.compare(move |places, how| head_login(places, recorded.as_deref(), own.as_deref(), how))
    }

    fn head_project(&self, head: &Head, input: &GateInput) -> HeadProject {
        let (recorded, own) = (head.cwd.clone(), input.cwd.clone());
        self.compare(move |places, how| head_project(places, recorded.as_deref(), &own, how))
    }

    fn head_file(&self, head: &Head, input: &GateInput) -> HeadFile {
        let (head, config_dir, cwd) = (head.clone(), input.config_dir.clone(), input.cwd.clone());
        self.probe(HeadFile::Unreadable, move |places| probes::head_file(places, &head, config_dir.as_deref(), &cwd))
    }

    fn head_busy(&self, head: &Head, input: &GateInput) -> HeadBusy {
        let (head, config_dir, processes) = (head.clone(), input.config_dir.clone(), self.processes.clone());
        self.probe(HeadBusy::No, move |places| probes::head_busy(places, &processes, &head, config_dir.as_deref()))
    }

    fn head_record(&self, head: &Head, _: &GateInput) -> HeadRecord {
        let head = head.clone();
        self.probe(HeadRecord::Incomplete, move |places| probes::head_record(places, &head))
    }

    fn fork_record(&self, point: &Head, _: &GateInput) -> ForkRecord {
        let point = point.clone();
        self.probe(ForkRecord::Incomplete, move |places| probes::fork_record(places, &point))
    }
}
