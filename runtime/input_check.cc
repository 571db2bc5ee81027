#include "runtime/input_check.h"

#include <string>

#include "base/concat.h"

namespace firn::runtime {
namespace {

const int32_t* values(const Entry& entry, blob::SymbolKind kind) {
  return reinterpret_cast<const int32_t*>(entry.symbol(kind).data);
}

Status refuse(const Entry& entry, const std::string& what, int64_t found, int64_t first, int64_t last) {
  return outOfRange("entry " + entry.name + ": " + what + " is " + std::to_string(found) + ", expected " +
                    std::to_string(first) + ".." + std::to_string(last));
}

Status checkEach(const Entry& entry, blob::SymbolKind kind, uint32_t count, uint32_t limit) {
  const int32_t* data = values(entry, kind);
  if (data == nullptr) return Status::ok();
  for (uint32_t i = 0; i < count; ++i) {
    if (data[i] >= 0 && static_cast<uint32_t>(data[i]) < limit) continue;
    const char* what = kind == blob::SymbolKind::kIds ? "the token id of row " : "the position of row ";
    return refuse(entry, what + std::to_string(i), data[i], 0, int64_t{limit} - 1);
  }
  return Status::ok();
}

/// Each row of a batch is one token in a cache of its own.
Status checkBatchRows(const Entry& entry, RunValues& run) {
  const int32_t* row0 = values(entry, blob::SymbolKind::kRow0);
  const uint32_t context = entry.record->context;
  for (uint32_t i = 0; i < run.valid; ++i) {
    if (entry.symbol(blob::kvOfRow(i)).data == nullptr) {
      return invalidArgument("entry " + entry.name + ": row " + std::to_string(i) + " of the " +
                             std::to_string(run.valid) + " valid ones is bound to no cache; bind its kv");
    }
    if (row0[i] < 0 || static_cast<uint32_t>(row0[i]) >= context) {
      return refuse(entry, "row0 of row " + std::to_string(i) + " (the context must hold it)", row0[i], 0,
                    int64_t{context} - 1);
    }
    run.row0s[i] = static_cast<uint32_t>(row0[i]);
  }
  return Status::ok();
}

}  // namespace

Result<RunValues> checkInputs(const Entry& entry, const blob::ProgramHeader& header) {
  const uint32_t rows = entry.record->rows;
  RunValues run{.valid = rows};
  if (const int32_t* valid = values(entry, blob::SymbolKind::kValid)) {
    if (*valid < 1 || static_cast<uint32_t>(*valid) > rows) return refuse(entry, "valid", *valid, 1, rows);
    run.valid = static_cast<uint32_t>(*valid);
  }
  if (entry.isBatch()) {
    FIRN_RETURN_IF_ERROR(checkBatchRows(entry, run));
  } else if (const int32_t* row0 = values(entry, blob::SymbolKind::kRow0)) {
    // A device of fixed size computes and writes all m rows, so the context holds them all, not only the valid ones.
    // It is at most T (the verifier sees to that), so no row leaves the cache either.
    const uint32_t context = entry.record->context;
    const int64_t lastRow0 = int64_t{context} - rows;
    if (*row0 < 0 || *row0 > lastRow0) {
      return refuse(entry, concat("row0 (of a chunk of ", rows, " in a context of ", context, ")"), *row0, 0, lastRow0);
    }
    run.row0 = static_cast<uint32_t>(*row0);
  }
  FIRN_RETURN_IF_ERROR(checkEach(entry, blob::SymbolKind::kIds, run.valid, header.vocab));
  FIRN_RETURN_IF_ERROR(checkEach(entry, blob::SymbolKind::kPositions, run.valid, header.kvRows));
  return run;
}

}  // namespace firn::runtime
