//! The forms of handlers: what each kind of instruction has around its semantics. A form uses the names that are in
//! scope where a handler is chosen, and gives a [`Code`](super::Code).

/// An instruction that touches registers only.
macro_rules! plain {
    ($f:expr) => {{
        /// # Safety
        /// `op` must be running.
        unsafe fn run<W: Word>(m: &mut Processor, op: *const Op) -> *const Op {
            // SAFETY: `op` is running.
            unsafe {
                $f(&mut m.registers, &(*op).operands);
                go_on(m, op)
            }
        }
        Code::alone(run::<W>, |m, i| {
            $f(&mut m.registers, i);
            Ok(())
        })
    }};
}

/// The variants of a register instruction by its OE and Rc bits.
macro_rules! overflow_record {
    ($i:expr, $f:ident) => {
        match ($i.overflow, $i.record) {
            (false, false) => plain!(integer::$f::<W, false, false>),
            (false, true) => plain!(integer::$f::<W, false, true>),
            (true, false) => plain!(integer::$f::<W, true, false>),
            (true, true) => plain!(integer::$f::<W, true, true>),
        }
    };
}

/// The same for one that a single width of registers has.
macro_rules! own_overflow_record {
    ($i:expr, $f:path) => {{
        use $f as f;
        match ($i.overflow, $i.record) {
            (false, false) => plain!(f::<false, false>),
            (false, true) => plain!(f::<false, true>),
            (true, false) => plain!(f::<true, false>),
            (true, true) => plain!(f::<true, true>),
        }
    }};
}

/// The variants of a register instruction by its Rc bit.
macro_rules! record {
    ($i:expr, $f:path) => {{
        use $f as f;
        if $i.record {
            plain!(f::<W, true>)
        } else {
            plain!(f::<W, false>)
        }
    }};
}

/// The same for one that a single width of registers has.
macro_rules! own_record {
    ($i:expr, $f:path) => {{
        use $f as f;
        if $i.record {
            plain!(f::<true>)
        } else {
            plain!(f::<false>)
        }
    }};
}

/// One of two functions, by the width of the registers.
macro_rules! by_width {
    ($macro:ident, $narrow:path, $wide:path) => {
        if W::WIDE {
            $macro!($wide)
        } else {
            $macro!($narrow)
        }
    };
}

/// An instruction that may raise an exception.
macro_rules! checked {
    ($f:expr) => {{
        /// # Safety
        /// `op` must be running.
        unsafe fn run<W: Word>(m: &mut Processor, op: *const Op) -> *const Op {
            // SAFETY: `op` is running.
            unsafe {
                match $f(m, &(*op).operands) {
                    Ok(()) => go_on(m, op),
                    Err(e) => raise(m, op, e),
                }
            }
        }
        Code::alone(run::<W>, |m, i| $f(m, i))
    }};
}

/// A load or store.
macro_rules! access {
    ($f:expr) => {{
        /// # Safety
        /// `op` must be running.
        unsafe fn run<W: Word>(m: &mut Processor, op: *const Op) -> *const Op {
            // SAFETY: `op` is running.
            unsafe {
                match $f(&mut AtOnce(m), &(*op).operands) {
                    Ok(()) => go_on(m, op),
                    Err(_) => slowly::<W>(m, op),
                }
            }
        }
        /// Apart, so that `run` makes no call but the last.
        ///
        /// # Safety
        /// `op` must be running.
        #[inline(never)]
        unsafe fn slowly<W: Word>(m: &mut Processor, op: *const Op) -> *const Op {
            // SAFETY: `op` is running.
            unsafe {
                match $f(m, &(*op).operands) {
                    Ok(()) => go_on(m, op),
                    Err(e) => raise(m, op, e),
                }
            }
        }
        Code::alone(run::<W>, |m, i| $f(m, i))
    }};
}

/// A load or store of floating-point registers.
macro_rules! float_access {
    ($f:path) => {{
        use $f as f;
        #[inline(always)]
        fn available<W: Word, C: Core>(c: &mut C, i: &Operands) -> Result<(), Exception> {
            exception::float_available(c.registers())?;
            f::<W, C>(c, i)
        }
        access!(available::<W, _>)
    }};
}

/// Floating-point arithmetic; may raise an exception that FPSCR and MSR enable.
macro_rules! float {
    ($i:expr, $f:path) => {{
        use $f as f;
        if $i.record {
            checked!(
                |m: &mut Processor, i: &Operands| float::instruction::<true>(
                    &mut m.registers,
                    i,
                    f
                )
            )
        } else {
            checked!(
                |m: &mut Processor, i: &Operands| float::instruction::<false>(
                    &mut m.registers,
                    i,
                    f
                )
            )
        }
    }};
}

/// An instruction that ends its block, because the next ones must see its changes.
macro_rules! system {
    ($f:expr) => {{
        /// # Safety
        /// `op` must be running.
        unsafe fn run<W: Word>(m: &mut Processor, op: *const Op) -> *const Op {
            // SAFETY: `op` is running.
            unsafe { run_system(m, op, $f) }
        }
        Code::ending(run::<W>)
    }};
}

/// An instruction that ends its block and may raise an exception, but does not change how the next line is entered.
macro_rules! ending {
    ($f:expr) => {
        system!(|m, i| $f(m, i).map(|()| Continues::Next))
    };
}
