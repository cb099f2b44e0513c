//! Deep recursion: new threads have stacks on which fits what fits without cprof, and an exception leaves it in time.

use cprof_tests::attach::Running;
use cprof_tests::build;
use cprof_tests::run::{self, Bench};

/// None is named; fewer bytes than HotSpot needs by itself; many.
const SIZES: [u32; 3] = [0, 1, 8_000_000];

#[test]
fn recursion_that_fits_alone_fits_with_cprof() {
    run::on_every_jdk(|bench| {
        let start = |agent: &str| {
            // Frames of the interpreter are as large in every run.
            let mut java = bench.program(&["-Xint"]);
            if !agent.is_empty() {
                java.arg(build::agent_with(agent));
            }
            java.arg("Stacks");
            let name = format!("stacks-{}-{}", bench.jdk.feature, if agent.is_empty() { "alone" } else { "launched" });
            Running::start(java, &build::fresh(&name))
        };
        let deepest = |running: &mut Running, size: u32| running.ask(&format!("{size} 0")).parse::<u32>().unwrap();
        let fits = |running: &mut Running, size: u32, depth: u32, context: &str| {
            // Woven frames take two fifths more: without larger stacks these would overflow.
            let depth = depth * 4 / 5;
            let answer = running.ask(&format!("{size} {depth}"));
            assert_eq!(answer, "fits", "JDK {}, {context}: a stack of {size} bytes, {depth} frames", bench.jdk.feature);
        };
        let mut alone = start("");
        let depths = SIZES.map(|size| deepest(&mut alone, size));
        let directory = build::fresh(&format!("stacks-{}", bench.jdk.feature));
        let mut launched = start(&format!("quiet,out={}", directory.join("launched.cprof").display()));
        SIZES.into_iter().zip(depths).for_each(|(size, depth)| fits(&mut launched, size, depth, "launched"));
        launched.end();
        alone.done(&format!("out={}", directory.join("attached.cprof").display()));
        SIZES.into_iter().zip(depths).for_each(|(size, depth)| fits(&mut alone, size, depth, "attached"));
        alone.done("command=detach");
        for (size, depth) in SIZES.into_iter().zip(depths) {
            let now = deepest(&mut alone, size);
            assert!(now.abs_diff(depth) <= depth / 50, "JDK {}: {now} frames, {depth} before", bench.jdk.feature);
        }
        alone.end();
    });
}

/// What a program prints that compares two times, interpreted and counted.
fn two_times(bench: &Bench, options: &str, program: &str, argument: &str) -> [u64; 2] {
    let out = build::fresh(&format!("{program}-{}", bench.jdk.feature)).join("it.cprof");
    let agent = build::agent_option(&format!("quiet,{options}"), &out);
    let ending = run::end(bench.program(&["-Xint", "-Xss16m", &agent, program, argument]));
    let times: Vec<u64> = ending.stdout.split_whitespace().flat_map(str::parse).collect();
    let [one, other] = times[..] else { panic!("JDK {}, {options}: {ending:?}", bench.jdk.feature) };
    [one, other]
}

/// With `depth=`, cprof once went up from a context to see how deep it is: for each callee that was in no slot and, with call sites,
/// before each call. 2,000 calls from 2,500 levels took 50 to 160 times as long as from 10, and now 2.
#[test]
fn calls_take_as_long_however_deep_they_are() {
    for bench in run::benches() {
        for options in ["depth=5000", "depth=5000,sites=on", "depth=1000,sites=on"] {
            let [near, deep] = two_times(&bench, options, "Levels", "2500");
            assert!(deep <= 10 * near, "JDK {}, {options}: {near} and {deep} microseconds", bench.jdk.feature);
        }
    }
}

/// When an exception leaves constructors, cprof looks for those that no handler can see it leave. Once it looked through all that were
/// active, for each of them: these took 200 to 400 times as long as methods do, and now 2.
#[test]
fn constructors_are_left_in_linear_time() {
    for bench in run::benches() {
        let [constructors, methods] = two_times(&bench, "bba=precise", "Chains", "2000");
        assert!(constructors <= 40 * methods, "JDK {}: {constructors} and {methods} microseconds", bench.jdk.feature);
    }
}
