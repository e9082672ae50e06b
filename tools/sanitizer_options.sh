# SPDX-License-Identifier: BSD-3-Clause
# To be sourced: the same options as the test preset asan, for programs that pytest starts.
build=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/asan
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:log_path=$build/sanitizer-log
export LSAN_OPTIONS=exitcode=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
