// Executes scheduled bodies over bytes, in any order that queues and barriers allow: what a schedule must stand.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "compiler/target/npu/program_check.h"

namespace firn::target {

/// What each task read, as one number; what it writes follows from that. 0: it never ran.
using Digests = std::vector<uint64_t>;

/// The tasks one after the other in the order of the program, every value in bytes of its own: what is right.
Digests sequentialDigests(const CheckProgram& program);

/// One execution with random times: of all tasks that could start or end, one does. Reads that change while a task runs
/// count as wrong, and half-written bytes are visible. Nothing when the program deadlocks.
std::optional<Digests> randomDigests(const CheckProgram& program, std::mt19937& random);

/// For each pair of tasks whether, in every state that the queues can reach, the first has ended when the second
/// starts: [first][second]. Nothing when the program can deadlock. For small programs.
std::optional<std::vector<std::vector<bool>>> certainOrder(const CheckProgram& program);

/// Looks at every state that the queues can reach. The sentence says what goes wrong in one of them: a deadlock, or a
/// task that starts before another has ended which shares a byte with it and comes first in the program. For small
/// programs.
std::optional<std::string> faultInAnyExecution(const CheckProgram& program);

}  // namespace firn::target
