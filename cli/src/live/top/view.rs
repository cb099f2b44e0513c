//! What `cprof top` shows.

use super::text::{cut, method, short};
use crate::style::Style;
use cprof_profile::model::{RunFacts, now_ms};
use cprof_profile::names::{size, thousands};
use cprof_profile::recording::rates::{Change, Look, Meter, MethodName, Rates};
use std::time::Duration;

/// Lines above the rows.
pub const HEAD: usize = 5;
/// Rows that are kept, more than any terminal shows.
const MOST_ROWS: usize = 500;
/// Callers shown of a context.
const CALLERS: usize = 12;

/// By what the rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One row per method.
    Methods,
    /// One row per calling context.
    Contexts,
    /// One row per thread, or per group of threads that used one tree.
    Threads,
}

/// What they are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Bytecodes of the method itself.
    Own,
    /// Calls.
    Calls,
    /// Bytecodes with those of everything called.
    Total,
}

impl Order {
    /// The next one.
    pub fn next(self) -> Order {
        match self {
            Order::Own => Order::Calls,
            Order::Calls => Order::Total,
            Order::Total => Order::Own,
        }
    }

    fn key(self, change: &Change) -> (u64, u64) {
        match self {
            Order::Own => (change.own, change.calls),
            Order::Calls => (change.calls, change.own),
            Order::Total => (change.total, change.own),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Order::Own => "bytecodes",
            Order::Calls => "calls",
            Order::Total => "bytecodes with callees",
        }
    }
}

/// A row's name.
enum Name {
    /// The method and its callers, from the inside.
    Path(Vec<MethodName>),
    Text(String),
}

/// Everything that is on the screen.
pub struct View {
    head: String,
    started_ms: u64,
    style: Style,
    /// By what the rows are.
    pub kind: Kind,
    /// What they are ordered by.
    pub order: Order,
    /// No new numbers for now.
    pub paused: bool,
    /// The line of keys is shown.
    pub keys: bool,
    /// A message.
    pub note: String,
    /// Bytes of shared memory.
    pub memory: u64,
    /// How long the last look took.
    pub took: Duration,
    seconds: f64,
    all: Change,
    contexts: usize,
    threads: usize,
    /// Of them, how many did something.
    active: usize,
    warnings: usize,
    /// Best by each order, for each kind.
    rows: [Vec<(Name, Change)>; 3],
}

impl View {
    /// Nothing has been measured yet.
    pub fn new(pid: u32, run: &RunFacts, style: Style) -> View {
        let main = if run.main_class.is_empty() { "(unknown main class)" } else { &run.main_class };
        View {
            head: format!("cprof top: JVM {pid}, {main}, {}", run.jvm_version),
            started_ms: run.started_ms,
            style,
            kind: Kind::Methods,
            order: Order::Own,
            paused: false,
            keys: false,
            note: String::new(),
            memory: 0,
            took: Duration::ZERO,
            seconds: 0.0,
            all: Change::default(),
            contexts: 0,
            threads: 0,
            active: 0,
            warnings: 0,
            rows: Default::default(),
        }
    }

    /// Nothing has been measured yet of another recording of the same JVM.
    pub fn restart(&mut self, run: &RunFacts) {
        self.started_ms = run.started_ms;
        self.took = Duration::ZERO;
        self.seconds = 0.0;
        self.all = Change::default();
        (self.contexts, self.threads, self.active, self.warnings) = (0, 0, 0, 0);
        self.rows = Default::default();
    }

    /// Whether there are numbers.
    pub fn ready(&self) -> bool {
        self.seconds > 0.0
    }

    /// Takes new numbers.
    pub fn update(&mut self, look: &Look, rates: Rates, time: Duration, meter: &Meter) {
        self.seconds = time.as_secs_f64();
        self.all = rates.all;
        (self.contexts, self.threads, self.warnings) = (look.contexts(), look.threads(), look.warnings().len());
        // A thread may stay in one method all the time.
        self.active = rates.threads.iter().filter(|(_, change)| change.calls > 0 || change.own > 0).count();
        let path = |methods: &[u32]| Name::Path(methods.iter().map(|&m| meter.name(m).clone()).collect());
        let thread = |tree: u32| match look.leases(tree) {
            0 | 1 => look.thread(tree),
            leases => format!("{} ({leases} threads)", look.thread(tree)),
        };
        self.rows = [
            best(rates.methods).into_iter().map(|(m, change)| (path(&[m]), change)).collect(),
            best(rates.contexts)
                .into_iter()
                .map(|(node, change)| {
                    let mut methods = look.path(node);
                    methods.truncate(CALLERS + 1);
                    (path(&methods), change)
                })
                .collect(),
            best(rates.threads).into_iter().map(|(tree, change)| (Name::Text(thread(tree)), change)).collect(),
        ];
    }

    /// As lines for a terminal of this size.
    pub fn lines(&self, width: usize, height: usize) -> Vec<String> {
        let style = self.style;
        let recorded = now_ms().saturating_sub(self.started_ms) / 1000;
        let mut head = format!("{}, recorded for {}", self.head, clock(recorded));
        if self.paused {
            head.push_str(", paused");
        }
        let per_second = |n: u64| short(n as f64 / self.seconds);
        let numbers = match self.ready() {
            true => format!(
                "{} bytecodes/s, {} calls/s, active threads: {}",
                per_second(self.all.own),
                per_second(self.all.calls),
                self.active
            ),
            false => "looking".to_owned(),
        };
        let tree = format!(
            "{} contexts, {} of shared memory, trees: {}; read in {} ms",
            thousands(self.contexts as u64),
            size(self.memory),
            self.threads,
            self.took.as_millis()
        );
        let keys = match (&self.note, self.keys, self.warnings) {
            (note, ..) if !note.is_empty() => style.warning(&cut(note, width)),
            (.., warnings) if warnings > 0 => {
                style.warning(&cut("parts of the recording cannot be read; cprof snapshot says which", width))
            }
            (_, true, _) => {
                style.dim(&cut("m methods  c contexts  t threads  s order  space pause  w write snapshot  q quit", width))
            }
            _ => String::new(),
        };
        let mut lines = vec![style.bold(&cut(&head, width)), cut(&numbers, width), cut(&tree, width), keys];
        lines.extend(self.table(width, height.saturating_sub(HEAD)));
        lines
    }

    /// The column heads and the rows.
    fn table(&self, width: usize, rows: usize) -> Vec<String> {
        let what = match self.kind {
            Kind::Methods => "method",
            Kind::Contexts => "context ← callers",
            Kind::Threads => "thread",
        };
        // Where callers would not be seen otherwise, their names are worth more than a column.
        const WIDE: usize = 100;
        let columns = |own: &str, share: &str, total: &str, calls: &str| match self.kind {
            Kind::Contexts if width >= WIDE => format!("{own:>11}  {share:>6}  {total:>12}  {calls:>7}  "),
            _ => format!("{own:>11}  {share:>6}  {calls:>7}  "),
        };
        let head = columns("bytecodes/s", "share", "with callees", "calls/s") + what + " (by " + self.order.name() + ")";
        let mut lines = vec![self.style.bold(&cut(&head, width))];
        let mut shown: Vec<&(Name, Change)> = self.rows[self.kind as usize].iter().collect();
        shown.sort_by_key(|(_, change)| std::cmp::Reverse(self.order.key(change)));
        for (name, change) in shown.into_iter().take(rows) {
            let rate = |n: u64| short(n as f64 / self.seconds);
            let share = format!("{:.1}%", change.own as f64 * 100.0 / (self.all.own.max(1)) as f64);
            let numbers = columns(&rate(change.own), &share, &rate(change.total), &rate(change.calls));
            let left = width.saturating_sub(numbers.chars().count());
            lines.push(cut(&(numbers + &Self::name(name, left)), width));
        }
        lines
    }

    fn name(name: &Name, width: usize) -> String {
        match name {
            Name::Text(text) => cut(text, width),
            Name::Path(path) => {
                let mut text = String::new();
                // Calls of a method by itself are one step.
                for (i, same) in path.chunk_by(|a, b| a == b).enumerate() {
                    let times = if same.len() > 1 { format!(" ×{}", same.len()) } else { String::new() };
                    let left = width.saturating_sub(text.chars().count() + times.chars().count());
                    // A caller of which next to nothing would be seen is not begun.
                    const LEAST: usize = 12;
                    match i {
                        0 if path.len() == same.len() => text.push_str(&method(&same[0], left)),
                        0 => text.push_str(&method(&same[0], left / 5 * 3)),
                        _ if left < LEAST => break,
                        _ => {
                            text.push_str(" ← ");
                            let short = MethodName { parameters: String::new(), ..same[0].clone() };
                            text.push_str(method(&short, left - 3).trim_end_matches("(…)"));
                        }
                    }
                    text.push_str(&times);
                }
                text
            }
        }
    }
}

/// Those that any order may show.
fn best(mut rows: Vec<(u32, Change)>) -> Vec<(u32, Change)> {
    if rows.len() > 3 * MOST_ROWS {
        let mut kept = Vec::new();
        for order in [Order::Own, Order::Calls, Order::Total] {
            rows.select_nth_unstable_by_key(MOST_ROWS, |(_, change)| std::cmp::Reverse(order.key(change)));
            kept.extend_from_slice(&rows[..MOST_ROWS]);
        }
        kept.sort_unstable_by_key(|(what, _)| *what);
        kept.dedup_by_key(|(what, _)| *what);
        return kept;
    }
    rows.sort_unstable_by_key(|(what, _)| *what);
    rows
}

/// `4:07`, `1:02:03`.
fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(class: &str, method: &str) -> MethodName {
        MethodName { class: class.into(), method: method.into(), parameters: "()".into() }
    }

    fn view() -> View {
        let mut view = View::new(7, &RunFacts { main_class: "com.acme.Main".into(), ..RunFacts::default() }, Style::plain());
        view.seconds = 2.0;
        view.active = 2;
        view.all = Change { calls: 10, own: 4000, total: 4000 };
        let change = |calls, own, total| Change { calls, own, total };
        let f = name("com.acme.Main", "f");
        view.rows[Kind::Methods as usize] = vec![
            (Name::Path(vec![f.clone()]), change(8, 1000, 1000)),
            (Name::Path(vec![name("a.B", "g")]), change(2, 3000, 3000)),
        ];
        let path = vec![name("a.B", "g"), f.clone(), f.clone(), f];
        view.rows[Kind::Contexts as usize] = vec![(Name::Path(path), change(2, 3000, 3500))];
        let thread = |name: &str, change| (Name::Text(name.to_owned()), change);
        view.rows[Kind::Threads as usize] =
            vec![thread("main", change(10, 0, 0)), thread("loop", change(0, 4000, 4000)), thread("idle", Change::default())];
        view
    }

    #[test]
    fn rows_are_rates_in_the_order_chosen() {
        let mut view = view();
        let lines = view.lines(80, 24);
        assert_eq!(lines[1], "2.00k bytecodes/s, 5 calls/s, active threads: 2");
        assert_eq!(lines[5], "      1.50k   75.0%        1  a.B.g()");
        assert_eq!(lines[6], "        500   25.0%        4  com.acme.Main.f()");
        view.order = Order::Calls;
        assert!(view.lines(80, 24)[5].ends_with("com.acme.Main.f()"));
    }

    #[test]
    fn contexts_show_callers_and_recursion() {
        let mut view = view();
        view.kind = Kind::Contexts;
        assert_eq!(view.lines(100, 24)[5], "      1.50k   75.0%         1.75k        1  a.B.g() ← com.acme.Main.f ×3");
    }

    #[test]
    fn nothing_is_wider_or_higher_than_the_terminal() {
        let mut view = view();
        view.keys = true;
        for kind in [Kind::Methods, Kind::Contexts, Kind::Threads] {
            view.kind = kind;
            for width in 0..130 {
                for height in HEAD..9 {
                    let lines = view.lines(width, height);
                    assert!(lines.len() <= height, "{height}");
                    assert!(lines.iter().all(|l| l.chars().count() <= width), "{width}: {lines:#?}");
                }
            }
        }
    }
}
