#include "blob/verify/part_verify.h"

#include "base/concat.h"
#include "blob/names.h"

namespace firn::blob {

namespace {

/// Parts of an entry: a record counts them in 16 bits.
constexpr uint32_t kMaxParts = 0xFFFF;

/// Where `entry` stands behind `before`, the record in front of it, or null.
Status checkPlace(const EntryRecord& entry, const EntryRecord* before) {
  const uint32_t limit = entry.kind == EntryKind::kHead ? 1 : kMaxParts;
  if (entry.parts == 0 || entry.parts > limit) {
    return corrupt(concat("parts is ", entry.parts, ", expected 1..", limit));
  }
  const bool isNext = before != nullptr && before->part + 1 < before->parts;
  const uint32_t expected = isNext ? before->part + 1U : 0;
  const bool isSame = !isNext || (entry.kind == before->kind && entry.rows == before->rows &&
                                  entry.context == before->context && entry.parts == before->parts);
  if (entry.part == expected && isSame) return Status::ok();
  return corrupt(concat("part ", entry.part, " of ", entry.parts, ", expected part ", expected,
                        isNext ? " of the entry before" : ""));
}

Status checkParts(const ProgramView& program, Target ownTarget) {
  bool hasOwnTarget = false;
  const EntryRecord* before = nullptr;
  for (size_t i = 0; i < program.entries.size(); ++i) {
    const EntryRecord& entry = program.entries[i];
    if (targetName(entry.target).empty()) {
      return corrupt(concat("entry ", i, ": target is ", static_cast<uint32_t>(entry.target), ", expected one of ",
                            targetNames()));
    }
    if (entry.reserved0 != 0) return corrupt(concat("entry ", i, ": reserved0 is not zero"));
    if (Status status = checkPlace(entry, before); !status.isOk()) return status.withPlace(concat("entry ", i));
    hasOwnTarget = hasOwnTarget || entry.target == ownTarget;
    before = &entry;
  }
  if (before != nullptr && before->part + 1 != before->parts) {
    return corrupt(concat("the last entry is part ", before->part, " of ", before->parts, ": parts are missing"));
  }
  if (hasOwnTarget) return Status::ok();
  return corrupt(concat("no entry is for ", targetName(ownTarget), ", the target of the note"));
}

}  // namespace

Result<std::vector<Target>> verifyParts(const ProgramView& program, Target ownTarget) {
  FIRN_RETURN_IF_ERROR(checkParts(program, ownTarget));
  std::vector<Target> targets(program.bodies.size());
  for (const EntryRecord& entry : program.entries) {
    for (const CallRecord& call : program.calls.subspan(entry.firstCall, entry.callCount)) {
      Target& target = targets[call.body];
      if (target != Target{} && target != entry.target) {
        return corrupt(concat("body ", call.body, ": entries for ", targetName(target), " and for ",
                              targetName(entry.target), " call it"));
      }
      target = entry.target;
    }
  }
  return targets;
}

}  // namespace firn::blob
