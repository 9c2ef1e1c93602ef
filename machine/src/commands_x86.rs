//! The commands on an x86 machine.

use pagewalk_machine::debug::{self, Ended};
use pagewalk_machine::loader::read_file;
use pagewalk_machine::machine::Limits;
use pagewalk_machine::shim::Ending;
use pagewalk_machine::x86::Stop;
use pagewalk_machine::x86::session::{Session, named};
use pagewalk_machine::x86::shim;

use super::{FATAL, Failure, LIMIT, Program, Run, console, given_causes, words};

/// What the command line can ask of a PowerPC machine only.
fn refuse_others(run: &Run) -> Result<(), Failure> {
    let asked = [
        ("--rom", run.rom.is_some()),
        ("--trace", run.trace.is_some()),
        ("--dump-dtb", run.dump_dtb.is_some()),
        ("--protocol", run.protocol.is_some()),
    ];
    match asked.iter().find(|(_, asked)| *asked) {
        Some((name, _)) => Err(format!("{name} does not go with an x86 machine").into()),
        None => Ok(()),
    }
}

/// A machine with a kernel, or with what a snapshot holds.
fn load(run: &Run) -> Result<Session, Failure> {
    let config = run.on.x86_config()?;
    let console = console(run)?;
    if let Some(path) = &run.restore {
        let name = path.display().to_string();
        let session = Session::restore(&read_file(path)?, &name, console)?;
        if *session.machine().config() != config {
            return Err(format!(
                "{name}: was saved on a machine with other keys than --machine and --set give"
            )
            .into());
        }
        return Ok(session);
    }
    let kernel = run.kernel.as_ref();
    let path = kernel.ok_or("nothing to run: give --kernel or --restore")?;
    let kernel = read_file(path)?;
    let name = path.display().to_string();
    let initramfs = run.initrd.as_deref().map(read_file).transpose()?;
    let causes = given_causes(run)?;
    let causes = causes.as_ref().map(|(text, name)| (&text[..], &name[..]));
    Ok(Session::with_kernel(
        &config,
        (&kernel, &name),
        causes,
        initramfs.as_deref(),
        &run.append,
        console,
    )?)
}

fn go(run: &Run, session: &mut Session) -> Result<Stop, Failure> {
    let limits = run.on.limits();
    if let Some(path) = &run.save_snapshot {
        let at = run.at.unwrap_or(0);
        let stop = session.run(Limits {
            cycles: at.min(limits.cycles),
            ..limits
        });
        if stop != Stop::Limit || session.machine().instant().cycles < at {
            return Ok(stop);
        }
        std::fs::write(path, session.save()?)
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let Some(port) = run.gdb else {
        return Ok(session.run(limits));
    };
    let announce = |port| eprintln!("pagewalk-machine: waiting for gdb on port {port}");
    Ok(
        match debug::serve_x86(session.machine_mut(), port, limits, announce)? {
            Ended::Stopped(stop) => stop,
            Ended::Detached => session.run(limits),
            Ended::Killed => {
                eprintln!("pagewalk-machine: killed by gdb");
                Stop::Limit
            }
        },
    )
}

pub fn execute(run: &Run) -> Result<u8, Failure> {
    refuse_others(run)?;
    let mut session = load(run)?;
    for (guest_path, elf) in &run.symbols {
        session.add_symbols(guest_path, &read_file(elf)?)?;
    }
    if run.profile.is_some() || run.profile_table.is_some() {
        session.record_profile(None);
    }
    if let Some(set) = run.sanitize {
        session.sanitize(set)?;
    }
    session.set_oracle(run.on.oracle);
    let stop = go(run, &mut session)?;
    let write = |path: &std::path::Path, text: String| {
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    if let Some(path) = &run.on.counters {
        write(path, format!("{:#}\n", session.report(&stop)))?;
    }
    if let Some(path) = &run.profile {
        write(path, session.profile_folded())?;
    }
    if let Some(lines) = run.profile_table {
        eprint!("{}", session.profile_table(lines));
    }
    if let Some(path) = &run.dump {
        let mut dumps = session.dumps().to_vec();
        dumps.extend(session.dump(0));
        let json = path
            .extension()
            .is_some_and(|extension| extension == "json");
        let text = if json {
            let dumps: Vec<_> = dumps.iter().map(|dump| dump.to_json()).collect();
            format!("{}\n", serde_json::Value::Array(dumps))
        } else {
            dumps.iter().map(ToString::to_string).collect()
        };
        write(path, text)?;
    }
    Ok(match stop {
        Stop::PowerOff { status } => {
            for warning in session.warnings() {
                eprintln!("pagewalk-machine: warning: {warning}");
            }
            status as u8
        }
        Stop::Fatal(_) => {
            eprintln!("pagewalk-machine: {}", session.explain(&stop));
            FATAL
        }
        _ => {
            eprintln!("pagewalk-machine: {}", session.explain(&stop));
            LIMIT
        }
    })
}

pub fn run_program(arguments: &Program) -> Result<u8, Failure> {
    let config = arguments.on.x86_config()?;
    let (path, name) = arguments.file();
    let elf = read_file(path)?;
    let (command, environment) = (words(&arguments.command), words(&arguments.env));
    let mut program = shim::Program::new(&config, &elf, &name, &command, &environment)?;
    program.machine_mut().set_oracle(arguments.on.oracle);
    eprintln!("pagewalk-machine: warning: {name} opens this computer's files with your rights");
    let ending = program.run(arguments.on.limits());
    if let Some(path) = &arguments.on.counters {
        let processor = program.machine().processor();
        let counters: serde_json::Map<_, _> =
            named(&processor.account.counters, Some(&processor.exceptions))
                .into_iter()
                .map(|(name, value)| (name, value.into()))
                .collect();
        std::fs::write(path, format!("{:#}\n", serde_json::Value::Object(counters)))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(match ending {
        Ending::Exited(status) => status,
        Ending::Limit => {
            eprintln!("pagewalk-machine: {name}: {ending}");
            LIMIT
        }
        Ending::Killed(_) => {
            eprintln!("pagewalk-machine: {name}: {ending}");
            FATAL
        }
    })
}
