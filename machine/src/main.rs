//! `pagewalk-machine`: runs a kernel, a bare-metal program, a ROM or a user program on a simulated machine.
//!
//! Exit status: the guest's, or 124 when a limit was reached, 125 when the guest cannot go on, 126
//! when something given on the command line cannot be used.

mod arguments;
mod constants;

use std::fs::File;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use pagewalk_machine::board::Console;
use pagewalk_machine::computer::{Limits, Saved, Session, Stop, StopOf};
use pagewalk_machine::config::MachineConfig;
use pagewalk_machine::debug::{self, Debugged, Ended};
use pagewalk_machine::loader::{ElfImage, read_file};
use pagewalk_machine::observe::Shown;
use pagewalk_machine::powerpc::loader::{Boot, Given};
use pagewalk_machine::powerpc::session;
use pagewalk_machine::shim::{self, Ending, Hosted};
use pagewalk_machine::{powerpc, riscv, x86};

use arguments::{Arguments, Command, Constants, Program, Run, words};

const LIMIT: u8 = 124;
const FATAL: u8 = 125;
const BAD_INPUT: u8 = 126;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() {
                ExitCode::from(BAD_INPUT)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let status = match arguments.command {
        Command::Run(run) => execute(&run),
        Command::Program(program) => run_program(&program),
        Command::Constants(constants) => print_constants(&constants),
    };
    match status {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            eprintln!("pagewalk-machine: {error}");
            ExitCode::from(BAD_INPUT)
        }
    }
}

fn execute(run: &Run) -> Result<u8, Failure> {
    if run.on.is_x86()? {
        refuse_others(run, "an x86")?;
        return to_the_end(run, load_x86(run, &run.on.x86_config()?)?);
    }
    if run.on.is_riscv()? {
        refuse_others(run, "a RISC-V")?;
        return to_the_end(run, load_riscv(run, &run.on.riscv_config()?)?);
    }
    for (name, given) in [
        ("--firmware", run.firmware.is_some()),
        ("--disk", run.disk.is_some()),
    ] {
        if given {
            return Err(format!("{name} goes with a RISC-V machine only").into());
        }
    }
    let config = run.on.config()?;
    if let Some(path) = &run.dump_dtb {
        return write_tree(run, &config, path);
    }
    to_the_end(run, load(run, config)?)
}

/// What the command line cannot ask of `whose` machine.
fn refuse_others(run: &Run, whose: &str) -> Result<(), Failure> {
    let asked = [
        ("--rom", run.rom.is_some()),
        ("--dump-dtb", run.dump_dtb.is_some()),
        ("--protocol", run.protocol.is_some()),
        ("--firmware", run.firmware.is_some() && run.on.is_x86()?),
        ("--disk", run.disk.is_some() && run.on.is_x86()?),
        ("--causes", run.causes.is_some() && run.on.is_riscv()?),
    ];
    match asked.iter().find(|(_, asked)| *asked) {
        Some((name, _)) => Err(format!("{name} does not go with {whose} machine").into()),
        None => Ok(()),
    }
}

/// Runs what was loaded, and writes down what was asked for.
fn to_the_end<C: Saved + Debugged>(run: &Run, mut session: Session<C>) -> Result<u8, Failure> {
    for note in session.notes() {
        eprintln!("pagewalk-machine: {note}");
    }
    for (guest_path, elf) in &run.symbols {
        session.add_symbols(guest_path, &read_file(elf)?)?;
    }
    if run.profile.is_some() || run.profile_table.is_some() {
        session.record_profile(None);
    }
    if run.trace.is_some() {
        session.record_trace(run.trace_window.clone());
    }
    if let Some(set) = run.sanitize {
        session.sanitize(set)?;
    }
    session.set_oracle(run.on.oracle);
    if run.on.no_compiler {
        session.set_compiler(None);
    }
    let limits = run.on.limits(session.machine().shape().clock);
    let stop = go(run, &mut session, limits)?;
    write_results(run, &mut session, &stop)?;
    if let Some(summary) = session.sanitizer_summary() {
        eprintln!("pagewalk-machine: {summary}");
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

fn run_program(arguments: &Program) -> Result<u8, Failure> {
    if arguments.on.is_x86()? {
        run_hosted::<x86::Processor>(arguments, &arguments.on.x86_config()?)
    } else if arguments.on.is_riscv()? {
        run_hosted::<riscv::Processor>(arguments, &arguments.on.riscv_config()?)
    } else {
        run_hosted::<powerpc::Processor>(arguments, &arguments.on.config()?)
    }
}

fn run_hosted<C: Hosted>(arguments: &Program, config: &C::Config) -> Result<u8, Failure> {
    let on = &arguments.on;
    let (path, name) = arguments.file();
    let elf = read_file(path)?;
    let (command, environment) = (words(&arguments.command), words(&arguments.env));
    let mut program = shim::Program::<C>::new(config, &elf, &name, &command, &environment)?;
    program.machine_mut().set_oracle(on.oracle);
    if on.no_compiler {
        program.machine_mut().set_compiler(None);
    }
    eprintln!("pagewalk-machine: warning: {name} opens this computer's files with your rights");
    let ending = program.run(on.limits(C::shape(config).clock));
    if let Some(why) = program.machine().compiler_refused() {
        eprintln!("pagewalk-machine: warning: {why}");
    }
    if let Some(path) = &on.counters {
        let counters = program.machine().named_counters().into_iter();
        let counters: serde_json::Map<_, _> =
            counters.map(|(name, value)| (name, value.into())).collect();
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

fn print_constants(arguments: &Constants) -> Result<u8, Failure> {
    let program = read_file(&arguments.program)?;
    let name = arguments.program.display().to_string();
    for path in &arguments.machine {
        let config = MachineConfig::from_file(path, &arguments.set)?;
        let figures = constants::measure(config, &program, &name)?;
        let machine = path.file_stem().unwrap_or(path.as_os_str());
        println!("{}", constants::table(&machine.to_string_lossy(), &figures));
    }
    print!("{}", constants::LEGEND);
    Ok(0)
}

fn console(run: &Run) -> Result<Console, Failure> {
    let mut console = match &run.console {
        Some(path) => Console::file(
            File::create(path).map_err(|error| format!("{}: {error}", path.display()))?,
        ),
        None => Console::stdout(),
    };
    match &run.input {
        Some(path) if path == Path::new("-") => console = console.with_stdin(),
        Some(path) => console.type_in(&read_file(path)?),
        None => {}
    }
    Ok(console)
}

/// The machine that a snapshot holds.
fn restore<C: Saved>(run: &Run, config: &C::Config) -> Result<Option<Session<C>>, Failure> {
    let Some(path) = &run.restore else {
        return Ok(None);
    };
    let name = path.display().to_string();
    let session = Session::<C>::restore(&read_file(path)?, &name, console(run)?)?;
    if session.machine().config() != config {
        return Err(format!(
            "{name}: was saved on a machine with other keys than --machine and --set give"
        )
        .into());
    }
    Ok(Some(session))
}

fn load(run: &Run, config: MachineConfig) -> Result<session::Session, Failure> {
    if let Some(session) = restore(run, &config)? {
        return Ok(session);
    }
    let console = console(run)?;
    if let Some(path) = &run.rom {
        let (image, name) = (read_file(path)?, path.display().to_string());
        return Ok(session::Session::with_rom(config, &image, &name, console)?);
    }
    let Some(path) = &run.kernel else {
        return Err("nothing to run: give --kernel, --rom or --restore".into());
    };
    let (kernel, name) = (read_file(path)?, path.display().to_string());
    let initramfs = run.initrd.as_deref().map(read_file).transpose()?;
    let given = given(run, initramfs.as_deref());
    let causes = given_causes(run)?;
    let causes = causes.as_ref().map(|(text, name)| (&text[..], &name[..]));
    let kernel = (&kernel[..], &name[..]);
    Ok(session::Session::with_causes(
        config, kernel, causes, &given, console,
    )?)
}

fn load_x86(run: &Run, config: &x86::Config) -> Result<x86::session::Session, Failure> {
    if let Some(session) = restore(run, config)? {
        return Ok(session);
    }
    let Some(path) = &run.kernel else {
        return Err("nothing to run: give --kernel or --restore".into());
    };
    let (kernel, name) = (read_file(path)?, path.display().to_string());
    let initramfs = run.initrd.as_deref().map(read_file).transpose()?;
    let causes = given_causes(run)?;
    let causes = causes.as_ref().map(|(text, name)| (&text[..], &name[..]));
    let console = console(run)?;
    Ok(x86::session::Session::with_kernel(
        config,
        (&kernel, &name),
        causes,
        initramfs.as_deref(),
        &run.append,
        console,
    )?)
}

fn load_riscv(run: &Run, config: &riscv::Config) -> Result<riscv::session::Session, Failure> {
    if let Some(session) = restore(run, config)? {
        return Ok(session);
    }
    let Some(path) = &run.kernel else {
        return Err("nothing to run: give --kernel or --restore".into());
    };
    let (kernel, name) = (read_file(path)?, path.display().to_string());
    let initramfs = run.initrd.as_deref().map(read_file).transpose()?;
    let firmware = run.firmware.as_deref().map(read_file).transpose()?;
    let disk = run.disk.as_deref().map(read_file).transpose()?;
    let file = run
        .firmware
        .as_deref()
        .map(|path| path.display().to_string());
    let given = riscv::session::Given {
        firmware: firmware.as_deref().zip(file.as_deref()),
        initramfs: initramfs.as_deref(),
        disk: disk.as_deref(),
        arguments: &run.append,
    };
    let console = console(run)?;
    Ok(riscv::session::Session::with_riscv_kernel(
        config,
        (&kernel, &name),
        &given,
        console,
    )?)
}

/// Text and name of the file that gives causes of the kernel's code.
fn given_causes(run: &Run) -> Result<Option<(String, String)>, Failure> {
    let Some(path) = &run.causes else {
        return Ok(None);
    };
    let name = path.display().to_string();
    let text = String::from_utf8(read_file(path)?);
    Ok(Some((
        text.map_err(|error| format!("{name}: {error}"))?,
        name,
    )))
}

fn go<C: Saved + Debugged>(
    run: &Run,
    session: &mut Session<C>,
    limits: Limits,
) -> Result<StopOf<C>, Failure> {
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
    match debug::serve(session.machine_mut(), port, limits, announce)? {
        Ended::Stopped(stop) => Ok(stop),
        Ended::Detached => Ok(session.run(limits)),
        Ended::Killed => {
            eprintln!("pagewalk-machine: killed by gdb");
            Ok(Stop::Limit)
        }
    }
}

fn write_results<C: Saved>(
    run: &Run,
    session: &mut Session<C>,
    stop: &StopOf<C>,
) -> Result<(), Failure> {
    let write = |path: &Path, text: String| {
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    if let Some(path) = &run.on.counters {
        write(path, format!("{:#}\n", session.report(stop)))?;
    }
    if let Some(path) = &run.profile {
        write(path, session.profile_folded())?;
    }
    if let Some(lines) = run.profile_table {
        eprint!("{}", session.profile_table(lines));
    }
    if let Some(path) = &run.trace {
        write(path, session.trace().to_string())?;
    }
    if let Some(path) = &run.dump {
        let mut dumps = session.dumps().to_vec();
        dumps.extend(session.dump(0));
        let json = path
            .extension()
            .is_some_and(|extension| extension == "json");
        let text = if json {
            let dumps: Vec<_> = dumps.iter().map(Shown::to_json).collect();
            format!("{}\n", serde_json::Value::Array(dumps))
        } else {
            dumps.iter().map(ToString::to_string).collect()
        };
        write(path, text)?;
    }
    Ok(())
}

fn given<'a>(run: &'a Run, initramfs: Option<&'a [u8]>) -> Given<'a> {
    Given {
        protocol: run.protocol,
        target: run.target,
        initramfs,
        arguments: &run.append,
    }
}

/// The first bytes of a flattened device tree (Devicetree Specification 0.4, 5.2).
const TREE_MAGIC: [u8; 4] = [0xd0, 0x0d, 0xfe, 0xed];

/// Writes the device tree and prints where everything goes, for another machine to do the same.
fn write_tree(run: &Run, config: &MachineConfig, path: &Path) -> Result<u8, Failure> {
    let kernel = run
        .kernel
        .as_ref()
        .ok_or("--dump-dtb places things beside a kernel: give --kernel")?;
    let image = ElfImage::parse(&read_file(kernel)?, &kernel.display().to_string())?;
    let initramfs = run.initrd.as_deref().map(read_file).transpose()?;
    let boot = Boot::kernel(config, &image, &given(run, initramfs.as_deref()))?;
    let tree = boot
        .chunks
        .iter()
        .find(|chunk| chunk.physical == boot.structure && chunk.bytes.starts_with(&TREE_MAGIC))
        .ok_or("--dump-dtb: this kernel is handed no device tree")?;
    std::fs::write(path, &tree.bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("entry {:#010x}", boot.entry);
    println!("tree {:#010x}", boot.structure);
    if let Some(range) = boot.initramfs {
        println!("initramfs {:#010x}", range.start);
    }
    Ok(0)
}
