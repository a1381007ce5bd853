// Generated from declarations of trace events: edits are lost.

#[allow(dead_code, improper_ctypes, non_upper_case_globals)]
mod state {
    use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

    extern "C" {
        static trace_events_enabled_count: AtomicU32;
        pub static _TRACE_NOTHING_DSTATE: AtomicU16;
        pub static _TRACE_KINDS_DSTATE: AtomicU16;
        pub static _TRACE_WITHOUT_FORMAT_DSTATE: AtomicU16;
        pub static _TRACE_COSTLY_DSTATE: AtomicU16;
    }

    /// QEMU changes these while others run: they are read as atomics, and in no order.
    #[inline(always)]
    pub fn is_on(event: &AtomicU16) -> bool {
        unsafe { &trace_events_enabled_count }.load(Ordering::Relaxed) != 0
            && event.load(Ordering::Relaxed) != 0
    }
}

#[inline(always)]
#[allow(dead_code, non_snake_case, clippy::too_many_arguments)]
pub fn trace_nothing() {
    if state::is_on(unsafe { &state::_TRACE_NOTHING_DSTATE }) {
        {
            #[allow(improper_ctypes)]
            extern "C" {
                fn _ring_trace_nothing();
            }
            unsafe { _ring_trace_nothing() };
        }
    }
}

#[inline(always)]
#[allow(dead_code, non_snake_case, clippy::too_many_arguments)]
pub fn trace_kinds(_b: bool, _u8: u8, _i: std::os::raw::c_int, _ll: std::os::raw::c_longlong, _u64: u64, _size: usize, _p: *mut (), _s: &std::ffi::CStr) {
    if state::is_on(unsafe { &state::_TRACE_KINDS_DSTATE }) {
        {
            #[allow(improper_ctypes)]
            extern "C" {
                fn _ring_trace_kinds(_b: bool, _u8: u8, _i: std::os::raw::c_int, _ll: std::os::raw::c_longlong, _u64: u64, _size: usize, _p: *mut (), _s: *const std::os::raw::c_char);
            }
            unsafe { _ring_trace_kinds(_b, _u8, _i, _ll, _u64, _size, _p, _s.as_ptr()) };
        }
    }
}

#[inline(always)]
#[allow(dead_code, non_snake_case, clippy::too_many_arguments)]
pub fn trace_without_format(_class: &std::ffi::CStr, _errno: std::os::raw::c_int) {
    if state::is_on(unsafe { &state::_TRACE_WITHOUT_FORMAT_DSTATE }) {
        {
            #[allow(improper_ctypes)]
            extern "C" {
                fn _ring_trace_without_format(_class: *const std::os::raw::c_char, _errno: std::os::raw::c_int);
            }
            unsafe { _ring_trace_without_format(_class.as_ptr(), _errno) };
        }
    }
}

#[inline(always)]
#[allow(dead_code, non_snake_case, clippy::too_many_arguments)]
pub fn trace_costly(_a: std::os::raw::c_int) {
}
