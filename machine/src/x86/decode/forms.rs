//! Handlers by the size and the place of their operands, for the tables of opcodes.

/// A handler for the operand size, of 16 or 32 bits: `f[before][after]` is `f::<before, size, after>`.
macro_rules! sized {
    ($d:ident, $f:ident $(:: $g:ident)? [$($before:ident)*] [$($t:ident)*]) => {
        if $d.narrow {
            ways!($f $(:: $g)? ::<$($before,)* Word $(, $t)*>)
        } else {
            ways!($f $(:: $g)? ::<$($before,)* Double $(, $t)*>)
        }
    };
}

/// The same for an operand that ModRM names, a register or memory: `f::<before, size, operand, after>`.
macro_rules! operand {
    ($d:ident, $f:ident $(:: $g:ident)? [$($before:ident)*] [$($t:ident)*]) => {
        if $d.register_form {
            sized!($d, $f $(:: $g)? [$($before)*] [Rm $($t)*])
        } else {
            sized!($d, $f $(:: $g)? [$($before)*] [Memory $($t)*])
        }
    };
}

/// The same for bytes.
macro_rules! byte_operand {
    ($d:ident, $f:ident $(:: $g:ident)? [$($before:ident)*] [$($t:ident)*]) => {
        if $d.register_form {
            ways!($f $(:: $g)? ::<$($before,)* Byte, Rm $(, $t)*>)
        } else {
            ways!($f $(:: $g)? ::<$($before,)* Byte, Memory $(, $t)*>)
        }
    };
}

/// [`operand`], or for bytes unless `wide`.
macro_rules! any_operand {
    ($d:ident, $wide:expr, $($f:tt)*) => {
        if $wide {
            operand!($d, $($f)*)
        } else {
            byte_operand!($d, $($f)*)
        }
    };
}

/// A handler of one size, for an operand that ModRM names: `f::<operand>`.
macro_rules! formed {
    ($d:ident, $f:ident :: $g:ident) => {
        if $d.register_form {
            ways!($f::$g::<Rm>)
        } else {
            ways!($f::$g::<Memory>)
        }
    };
}

/// A jump `f::<size, after>`, by the macro `how`.
macro_rules! sized_jump {
    ($d:ident, $how:ident, $f:ident :: $g:ident [$($t:ident)*]) => {
        if $d.narrow {
            $how!($f::$g::<Word $(, $t)*>)
        } else {
            $how!($f::$g::<Double $(, $t)*>)
        }
    };
}

/// [`sized`] for bytes.
macro_rules! byte_only {
    ($d:ident, $f:ident $(:: $g:ident)? [$($before:ident)*] [$($t:ident)*]) => {
        ways!($f $(:: $g)? ::<$($before,)* Byte $(, $t)*>)
    };
}

/// A handler for one of the eight operations ADD, OR, ADC, SBB, AND, SUB, XOR, CMP.
macro_rules! by_operation {
    ($number:expr, $how:ident, $d:ident, [$($t:ident)*]) => {
        match $number & 7 {
            0 => $how!($d, alu[Add][$($t)*]),
            1 => $how!($d, alu[Or][$($t)*]),
            2 => $how!($d, alu[AddCarry][$($t)*]),
            3 => $how!($d, alu[SubBorrow][$($t)*]),
            4 => $how!($d, alu[And][$($t)*]),
            5 => $how!($d, alu[Sub][$($t)*]),
            6 => $how!($d, alu[Xor][$($t)*]),
            _ => $how!($d, compare[Sub][$($t)*]),
        }
    };
}

/// A handler for one of the shifts and rotates.
macro_rules! by_shift {
    ($number:expr, $how:ident, $d:ident, $count:ident) => {
        match $number & 7 {
            0 => $how!($d, shift[Rol][$count]),
            1 => $how!($d, shift[Ror][$count]),
            2 => $how!($d, shift[Rcl][$count]),
            3 => $how!($d, shift[Rcr][$count]),
            5 => $how!($d, shift[Shr][$count]),
            7 => $how!($d, shift[Sar][$count]),
            _ => $how!($d, shift[Shl][$count]),
        }
    };
}

/// A handler for one of the sixteen conditions.
macro_rules! by_condition {
    ($number:expr, $width:ident) => {
        match $number & 15 {
            0 => conditional_ways::<$width, 0>(),
            1 => conditional_ways::<$width, 1>(),
            2 => conditional_ways::<$width, 2>(),
            3 => conditional_ways::<$width, 3>(),
            4 => conditional_ways::<$width, 4>(),
            5 => conditional_ways::<$width, 5>(),
            6 => conditional_ways::<$width, 6>(),
            7 => conditional_ways::<$width, 7>(),
            8 => conditional_ways::<$width, 8>(),
            9 => conditional_ways::<$width, 9>(),
            10 => conditional_ways::<$width, 10>(),
            11 => conditional_ways::<$width, 11>(),
            12 => conditional_ways::<$width, 12>(),
            13 => conditional_ways::<$width, 13>(),
            14 => conditional_ways::<$width, 14>(),
            _ => conditional_ways::<$width, 15>(),
        }
    };
}
