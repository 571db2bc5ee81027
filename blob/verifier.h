// Decides whether bytes are a blob that a device may run without looking again. Not here: the hash of the weights
// (Blob::verifyWeights in reader.h), which costs a pass over them.
//
// What is proved for a blob that passes:
//   - every byte before the weights is covered by the content hash, and every byte that means nothing is zero;
//   - tables lie inside their section; each record belongs to exactly one parent, in order, so walking the program
//     visits each record once per call and the cost of checking is linear in the file;
//   - there are at most kMaxRecords entries and as many bodies, and every body is called;
//   - for every call of every entry, every operand lies inside the scratch of the entry, the weights, the KV cache, the
//     CMX of a tile, or the symbol bound to it (the mask aside, but for the npu: an operand of kvRows bytes of which
//     the entry's context are bound and read), and nothing writes to weights or to inputs;
//   - operands have the types, ranks, layouts and dims that their op asks for, consistent with each other and with the
//     model's sizes (verify/task_op_verify.h, verify/npu_task_verify.h), and the bytes that these span; ids, positions
//     and mask come from the symbols a device checks at submit, but for the npu;
//   - a view of the cache is whole heads of one K or V, with their own scales (verify/cache_views.h), and what an
//     attention reads as keys is a K; a copy of the npu reads any rows of one part;
//   - a written operand does not overlap another operand of its task, unless the op may work in place and both are the
//     same view. Operands of different bases are apart: only the cache is written by way of a param, and a task that
//     writes it names one;
//   - a program for the npu has a machine file, its bodies are the queues of that machine, each task is on an engine
//     that runs its op, and the barriers exist.
// Not proved: that lanes of one segment do not race for scratch (values only, never memory safety), that numbers in
// weights and scratch are finite, that K and V of an attention are those of the call's layer, and that the kernels of a
// device accept the workspace of an attention task. Of the npu: that barriers order the tasks, or do not lock them for
// good (npu_task_cost.h and machine/timeline.h tell), and that the ids in CMX that an embed takes are below the rows of
// its table, which is for the device to look at when it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "blob/frame.h"
#include "blob/layout.h"
#include "blob/program_view.h"

namespace firn::blob {

/// Entries, and bodies, of one program: a ladder of 64 chunks and 64 contexts makes 4,300 entries.
inline constexpr uint32_t kMaxRecords = 1U << 16;

/// What verification found: views into the bytes it was given.
struct VerifiedOutside {
  Ident ident{};
  Frame frame;
  ProgramView program;
};

/// Verifies the part of a file of `fileBytes` bytes that lies before its weights; `outside` must be 4096-byte aligned.
/// version_mismatch names both versions; corrupt and unsupported name section, table and record.
/// Linear in outside.size(); allocates one copy of the symbol table, two bytes for each param, 16 for each entry, the
/// machine file as a tree of at most 1000 values, and a BodyNeeds (verify/task_op_verify.h) for each body: up to 16
/// MiB.
Result<VerifiedOutside> verifyOutside(std::span<const std::byte> outside, uint64_t fileBytes);

/// What a program is checked against besides its tables.
struct ProgramSurroundings {
  uint64_t weightsBytes = 0;
  std::string_view machine;  ///< text of the machine file; empty without one
};

/// XXH3-128 of the text of a machine file; zero for no text.
Hash128 machineHashOf(std::string_view machine);

/// The rules of the tables alone: everything that relates records to each other.
Status verifyProgram(const ProgramView& program, const Ident& ident, const ProgramSurroundings& around);

}  // namespace firn::blob
