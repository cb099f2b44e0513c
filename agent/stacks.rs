//! The frames that are active when a profile is taken: each has executed its last block in part only.

use crate::arena::Arena;
use crate::classes::EntryId;
use crate::contexts::Word;
use crate::jni::Jni;
use crate::jvmti::{FrameInfo, MethodId};
use crate::muted::Muted;
use crate::stopped::Stopped;
use crate::{Agent, faults};
use cprof_instrument::abi;
use cprof_instrument::classfile::ClassFile;
use cprof_instrument::weave::{Woven, WovenMethod};
use cprof_profile::recording::{Frame, Log, Memory, Stack};
use jni_sys::jobject;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// Threads that are stopped amid injected code may run on this often in all, and each this often, for a moment that gets longer
/// with every time. (Where there are more threads than cores, many moments pass in which it has no turn.)
const MOMENTS: u32 = 1000;
const MOMENTS_EACH: u32 = 200;
const SHORTEST_MOMENT: Duration = Duration::from_micros(50);
const LONGEST_MOMENT: Duration = Duration::from_millis(1);

/// The address of the node below which a thread's next call counts, given its context's words; `None` where that is nowhere.
fn current(node: u64, root: u64, arena: &Arena) -> Option<u64> {
    let base = arena.base();
    let outside = !(base..base + arena.len()).contains(&node);
    // As the runtime's slow path has it: CProfTree.miss.
    match node {
        _ if outside || node == base + abi::header::EARLY => Some(root),
        _ if node == base + abi::JUNK => None,
        _ => Some(node),
    }
}

/// Where a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At an instruction of the program's.
    At(Frame),
    /// In a method that is not woven, or not yet counted, or counted to its end.
    Nowhere,
    /// Amid injected code, or before a handler's entrance, or another agent has moved the code; behind this instruction, as it stands in
    /// the code.
    Between(Option<Frame>),
}

impl Place {
    fn frame(self) -> Option<Frame> {
        match self {
            Place::At(frame) => Some(frame),
            Place::Between(frame) => frame,
            Place::Nowhere => None,
        }
    }
}

/// How long threads may still take to come out of injected code.
struct Patience {
    /// Moments that are left.
    moments: u32,
    /// Methods that another agent has changed, as no thread gets out of what seems to be injected.
    foreign: HashSet<MethodId>,
    /// A thread ran on since all threads were stopped.
    ran_on: bool,
}

/// Translates frames of the VM to frames of the profile.
pub struct Frames<'a> {
    agent: &'a Agent,
    log: &'a Log<'a>,
    methods: HashMap<MethodId, Option<(EntryId, u32)>>,
    /// Threads stand still meanwhile: a class is read once, however many of its methods are on stacks.
    classes: HashMap<EntryId, Option<ClassFile<'a>>>,
    /// Per class: where bytecodes went, by method id, and how long the code is that they went to.
    woven: HashMap<EntryId, HashMap<u32, (WovenMethod, u64)>>,
}

impl<'a> Frames<'a> {
    /// For the classes in a log.
    pub fn new(agent: &'a Agent, log: &'a Log<'a>) -> Frames<'a> {
        Frames { agent, log, methods: HashMap::new(), classes: HashMap::new(), woven: HashMap::new() }
    }

    /// The stacks of the threads that have leased a tree.
    ///
    /// What a counter says of a frame is only certain between the program's own instructions: threads that were stopped amid
    /// injected code run on until they are out of it. (Only interpreted code stops there: HotSpot's compilers poll for safepoints
    /// at jumps, returns and calls of the program.)
    pub fn stacks(&mut self, jni: Jni, stopped: &mut Stopped, muted: Option<&Muted<'_>>) -> Vec<Stack> {
        let Agent { contexts, arena, .. } = self.agent;
        let root_of = |thread| contexts.get(jni, thread, Word::Tree).filter(|&root| root != 0);
        // Asked for together, those of deep threads excepted, which would take much memory together.
        let leased: Vec<jobject> = stopped.threads().iter().copied().filter(|&thread| root_of(thread).is_some()).collect();
        let seen = leased.iter().zip(self.agent.jvmti.short_stacks(jni, &leased));
        let mut seen: HashMap<_, _> = seen.filter_map(|(&thread, frames)| Some((thread, frames?))).collect();
        let mut stacks = Vec::new();
        let mut patience = Patience { moments: MOMENTS, foreign: HashSet::new(), ran_on: false };
        let mut next = 0;
        loop {
            let Some(&thread) = stopped.threads().get(next) else {
                // A thread that ran on may have started another.
                if patience.ran_on {
                    match self.agent.jvmti.current_thread() {
                        Ok(current) if stopped.platform(jni, current) => continue,
                        Ok(_) => {}
                        Err(_) => stopped.whole = false,
                    }
                }
                return stacks;
            };
            next += 1;
            // Threads without a tree have executed nothing; threads that have ended have no stack.
            if root_of(thread).is_none() {
                continue;
            }
            let seen = seen.remove(&thread);
            let Some(frames) = self.settled(jni, stopped, thread, seen, &mut patience) else { continue };
            // It may have given its tree back meanwhile.
            let Some(root) = root_of(thread) else { continue };
            let muted = muted.and_then(|muted| muted.node_of(thread));
            let node = muted.or_else(|| contexts.get(jni, thread, Word::Node));
            let current = node.and_then(|node| current(node, root, arena));
            let reference = |address: u64| (address.wrapping_sub(arena.base()) / abi::UNIT) as u32;
            stacks.push(Stack { tree: reference(root), current: current.map(reference), frames });
        }
    }

    /// The frames of a thread that is not amid injected code, or cannot be brought out of it. None: it has no stack. `seen`: what it
    /// was seen with, unless it is to be looked at.
    fn settled(
        &mut self,
        jni: Jni,
        stopped: &mut Stopped,
        thread: jobject,
        mut seen: Option<Vec<FrameInfo>>,
        patience: &mut Patience,
    ) -> Option<Vec<Frame>> {
        let mut moment = SHORTEST_MOMENT;
        let mut left = MOMENTS_EACH;
        loop {
            let frames = seen.take().or_else(|| self.agent.jvmti.stack(thread).ok())?;
            faults::pass("frames");
            let places: Vec<Place> = frames.iter().map(|frame| self.place(frame)).collect();
            // Injected code calls none that is woven.
            let innermost = places.iter().zip(&frames).find(|(place, _)| **place != Place::Nowhere);
            if let Some((Place::Between(_), FrameInfo { method, .. })) = innermost {
                if left == 0 {
                    patience.foreign.insert(*method);
                }
                if patience.moments > 0 && !patience.foreign.contains(method) && stopped.run_on(jni, thread, moment) {
                    patience.moments -= 1;
                    patience.ran_on = true;
                    left -= 1;
                    moment = LONGEST_MOMENT.min(2 * moment);
                    continue;
                }
            }
            return Some(places.into_iter().rev().filter_map(Place::frame).collect());
        }
    }

    /// Where a frame is in the program.
    fn place(&mut self, frame: &FrameInfo) -> Place {
        let Some((entry, id)) = self.known(frame.method) else { return Place::Nowhere };
        let (Some((woven, _)), Ok(position)) = (self.woven(entry, id), u32::try_from(frame.location)) else {
            return Place::Nowhere;
        };
        let at = |bci| Frame { method: id, bci };
        match woven.instruction_at(position) {
            Some(instruction) if instruction.settled => instruction.counted.map_or(Place::Nowhere, |bci| Place::At(at(bci))),
            // Before its first instruction: waiting for the monitor of a synchronized method, for instance.
            None if position == 0 => Place::Nowhere,
            _ => {
                let before = &woven.map[..woven.map.partition_point(|i| i.arrival <= position)];
                Place::Between(before.iter().rfind(|i| i.settled).map(|i| at(i.bci)))
            }
        }
    }

    fn known(&mut self, method: MethodId) -> Option<(EntryId, u32)> {
        if let Some(known) = self.methods.get(&method) {
            return *known;
        }
        let resolved = self.resolve(method);
        self.methods.insert(method, resolved);
        resolved
    }

    fn resolve(&mut self, method: MethodId) -> Option<(EntryId, u32)> {
        // Entered before its class was woven.
        if self.agent.jvmti.is_obsolete(method) {
            return None;
        }
        let class = self.agent.jvmti.declaring_class(method).ok()?;
        let entry = self.agent.classes.entry_of(class)?;
        let (name, descriptor) = self.agent.jvmti.method_name(method).ok()?;
        let logged = self.log.classes.get(entry as usize)?;
        let parsed = self.classes.entry(entry).or_insert_with(|| ClassFile::parse(logged.bytes).ok()).as_ref()?;
        let found = parsed.methods.iter().find(|m| m.name_str() == name && m.descriptor_str() == descriptor)?;
        let &(_, id, _) = logged.methods.iter().find(|&&(index, ..)| index == found.index)?;
        // Code that was changed after all agents had seen it is at other places: JFR times and traces methods so (JDK 25,
        // jfrClassTransformer.cpp).
        let &(_, length) = self.woven(entry, id)?;
        (self.agent.jvmti.code_length(method) == Some(length)).then_some((entry, id))
    }

    /// Where a method's bytecodes went, and how long its new code is.
    fn woven(&mut self, entry: EntryId, id: u32) -> Option<&(WovenMethod, u64)> {
        let (agent, log) = (self.agent, self.log);
        let methods = self.woven.entry(entry).or_insert_with(|| {
            let woven = log.classes.get(entry as usize).and_then(|class| agent.classes.maps(entry, class));
            woven.map(with_lengths).unwrap_or_default()
        });
        methods.get(&id)
    }
}

/// A class's methods by id, each with the length of its new code.
fn with_lengths(woven: Woven) -> HashMap<u32, (WovenMethod, u64)> {
    let Ok(class) = ClassFile::parse(&woven.bytes) else { return HashMap::new() };
    let length = |index: u16| Some(class.code(class.methods.get(usize::from(index))?).ok()??.bytes.len() as u64);
    let entry = |method: WovenMethod| length(method.index).map(|length| (method.id, (method, length)));
    woven.methods.into_iter().filter_map(entry).collect()
}
