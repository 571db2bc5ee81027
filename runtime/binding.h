// The checks of bind: is every symbol of an entry tied to memory of the right size and place?
#pragma once

#include "base/status.h"
#include "runtime/buffers.h"
#include "runtime/loaded_program.h"

namespace firn::runtime {

/// Checks `bindings` against the symbols of `entry`, then takes them over; on an error the entry keeps what it had.
/// Symbols that the entry does not have are ignored. Allocates nothing when it succeeds.
/// invalid_argument: a symbol unbound, an unknown buffer, a range outside its buffer, bytes other than the symbol's, an
/// address that is no multiple of the element size (the cache: of 64), an output or the cache overlapping another.
Status bindEntry(const LoadedProgram& program, Entry& entry, BufferTable& buffers, const Bindings& bindings);

}  // namespace firn::runtime
