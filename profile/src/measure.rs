//! Metrics of every node: counters and departures, weighed by what the code costs.

use crate::amounts::Amounts;
use crate::code::{CodeError, Costs, for_each_method};
use crate::cycles::Columns;
use crate::flow::{EdgeKind, Flow};
use crate::model::{Departure, DepartureKind, Level, Profile, special};
use crate::recover::{Recovery, Weights};
use std::ops::Range;

/// Per node, columns beside [`Nodes`](crate::model::Nodes). Special nodes have zeros.
#[derive(Debug, Clone, Default)]
pub struct Measures {
    /// Calls.
    pub calls: Amounts,
    /// Calls that ended with an exception.
    pub exceptional_exits: Amounts,
    /// Cost of the method's own bytecodes.
    pub own: Amounts,
    /// On a processor, when one was asked for ([`crate::cycles::evaluate()`]); else empty.
    pub processor: Columns,
    /// Nodes whose counts contradict each other and were taken as 0 where they would be negative: a capture of running
    /// threads may have caught them between two counters.
    pub inconsistent: usize,
}

/// Bytes of code of all methods together, ten times those of a large application.
const MOST_CODE: u64 = 1 << 28;

/// What is needed to measure the nodes of one method.
pub(crate) struct Rule {
    exits: Weights,
    own: Weights,
    costs: Costs,
}

/// What a rule makes of a node; modulo 2⁶⁴, below 0 where counts contradict each other.
pub(crate) struct Measured {
    pub(crate) exits: i64,
    pub(crate) own: i64,
}

impl Rule {
    /// The rule for a method with this flow and code (`at`: where the code is in its class file, for errors).
    pub(crate) fn new(flow: &Flow, code: &[u8], at: usize) -> Result<Rule, String> {
        let recovery = Recovery::new(flow).map_err(|e| format!("its flow: {e}"))?;
        let costs = Costs::by(code, at, |_| 1).map_err(|e| e.to_string())?;
        let entered = |to: u32| flow.blocks.get(to as usize).map_or(0, |b| costs.range(b.start, b.end));
        let own = flow.edges.iter().map(|e| entered(e.to)).collect();
        let exits = flow.edges.iter().map(|e| i64::from(e.kind == EdgeKind::SuperThrow)).collect();
        Ok(Rule { exits: recovery.weigh(flow, exits), own: recovery.weigh(flow, own), costs })
    }

    /// Measures a node by its counters and its departures: bytecode index, kind, count. Fails with a bytecode index that is in no
    /// block.
    pub(crate) fn apply(
        &self,
        flow: &Flow,
        level: Level,
        counters: &[u64],
        departures: impl Iterator<Item = (u32, DepartureKind, i64)>,
    ) -> Result<Measured, u32> {
        let (mut exits, mut own) = (self.exits.dot(counters), self.own.dot(counters));
        for (bci, kind, count) in departures {
            let block = flow.block_at(bci).ok_or(bci)?;
            let mut cost = self.own.departures[block];
            if level == Level::Precise {
                cost = cost.wrapping_sub(self.costs.range(bci + 1, flow.blocks[block].end));
            }
            own = own.wrapping_add(cost.wrapping_mul(count));
            let thrown = i64::from(kind == DepartureKind::Thrown);
            exits = exits.wrapping_add((self.exits.departures[block].wrapping_add(thrown)).wrapping_mul(count));
        }
        Ok(Measured { exits, own })
    }
}

/// Measures every node: its calls, and the bytecodes executed in it.
///
/// # Errors
/// The profile's copy of a class is damaged, or does not fit its counts; or its methods have more code than any program has.
pub fn measure(profile: &Profile) -> Result<Measures, CodeError> {
    within(profile, MOST_CODE)
}

fn within(profile: &Profile, most_code: u64) -> Result<Measures, CodeError> {
    let mut rules: Vec<Option<Rule>> = (0..profile.methods.len()).map(|_| None).collect();
    let mut left = most_code;
    for_each_method(profile, |m, class, method| {
        let fail = |reason: String| CodeError { class: class.name_str().into_owned(), reason };
        let name = &profile.methods[m].name;
        let code = class.code(method).map_err(|e| fail(e.to_string()))?;
        let code = code.ok_or_else(|| fail(format!("{name} has no code")))?;
        // Methods may share a class's code, so that a small file could ask for rules without end.
        let rest = left.checked_sub(code.bytes.len() as u64);
        left = rest.ok_or_else(|| {
            fail(format!(
                "its method {name} is one of so many that they have more than {most_code} bytes of code, as no program has"
            ))
        })?;
        let rule = Rule::new(&profile.methods[m].flow, code.bytes, code.at);
        rules[m] = Some(rule.map_err(|reason| fail(format!("{name}: {reason}")))?);
        Ok(())
    })?;
    let n = profile.nodes.len();
    let zeros = || Amounts::zeros(n);
    let mut out = Measures { calls: zeros(), exceptional_exits: zeros(), own: zeros(), ..Measures::default() };
    let mut rows = profile.nodes.rows();
    let mut departures = ByNode::new(&profile.departures);
    for node in 0..n {
        let gone = &profile.departures[departures.of(node)];
        let method = profile.nodes.method[node];
        if method >= special::FIRST {
            continue;
        }
        let Some(rule) = &rules[method as usize] else { continue };
        let counters = rows.of(node);
        let method = &profile.methods[method as usize];
        let measured = rule.apply(&method.flow, method.level, counters, gone.iter().map(|d| (d.bci, d.kind, d.count)));
        let Measured { exits, own } = measured.map_err(|bci| {
            let reason = format!("{} has no bytecode {bci}", method.name);
            CodeError { class: profile.classes[method.class as usize].name.clone(), reason }
        })?;
        let calls = counters.first().map_or(0, |&c| c as i64);
        out.inconsistent += usize::from(calls < 0 || exits < 0 || own < 0);
        out.calls.set(node, calls.max(0) as u64);
        out.exceptional_exits.set(node, exits.max(0) as u64);
        out.own.set(node, own.max(0) as u64);
    }
    Ok(out)
}

/// Walks departures, which are ordered by node, along with the nodes.
pub(crate) struct ByNode<'a> {
    departures: &'a [Departure],
    next: usize,
}

impl<'a> ByNode<'a> {
    pub(crate) fn new(departures: &'a [Departure]) -> ByNode<'a> {
        ByNode { departures, next: 0 }
    }

    /// The departures of a node; nodes must be asked for in rising order.
    pub(crate) fn of(&mut self, node: usize) -> Range<usize> {
        let at = |i: usize| self.departures.get(i).map(|d| d.node as usize);
        while at(self.next).is_some_and(|n| n < node) {
            self.next += 1;
        }
        let start = self.next;
        while at(self.next) == Some(node) {
            self.next += 1;
        }
        start..self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Class, Method};
    use cprof_synthetic::classes::{ClassWriter, op};

    #[test]
    fn methods_that_share_code_do_not_take_memory_without_end() {
        let mut class = ClassWriter::new("demo/Main", "java/lang/Object");
        class.method("f", "()V", 9, &[op::NOP, op::NOP, op::NOP, op::RETURN]);
        let class = Class {
            name: "demo/Main".into(),
            loader: String::new(),
            hidden: false,
            source_file: String::new(),
            bytes: class.finish(),
        };
        let method = Method {
            class: 0,
            index: 0,
            name: "f".into(),
            descriptor: "()V".into(),
            access: 9,
            level: Level::Precise,
            flow: Flow::default(),
        };
        let profile = Profile { classes: vec![class], methods: vec![method; 25], ..Profile::default() };
        assert!(within(&profile, 100).is_ok());
        let refused = within(&profile, 99).unwrap_err().to_string();
        assert!(refused.contains("its method f is one of so many that they have more than 99 bytes of code"), "{refused}");
    }
}
