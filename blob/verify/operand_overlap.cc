#include "blob/verify/operand_overlap.h"

#include <algorithm>

#include "base/dtype.h"
#include "blob/extent.h"

namespace firn::blob {

namespace {

uint64_t elementBytes(const OperandRecord& operand) { return dtypeInfo(operand.dtype)->blockBytes; }

/// Bytes of one row (dims 1 and up), or of all when there is only one.
uint64_t rowBytes(const OperandRecord& a) {
  if (a.rank < 2 || a.dims[0] == 1) return *operandBytes(a);
  return *operandBytes(a) - static_cast<uint64_t>(a.dims[0] - 1) * a.strides[0] * elementBytes(a);
}

/// Distance of rows in bytes; 0 when there is only one.
uint64_t pitchBytes(const OperandRecord& a) {
  return a.rank < 2 || a.dims[0] == 1 ? 0 : a.strides[0] * elementBytes(a);
}

}  // namespace

bool isSameView(const OperandRecord& a, const OperandRecord& b) {
  return a.offset == b.offset && a.rank == b.rank && a.dtype == b.dtype && a.dims == b.dims && a.strides == b.strides;
}

bool overlap(const OperandRecord& a, const OperandRecord& b) {
  if (a.space != b.space || a.base != b.base) return false;
  const uint64_t aBytes = *operandBytes(a);
  const uint64_t bBytes = *operandBytes(b);
  if (a.offset >= b.offset ? a.offset - b.offset >= bBytes : b.offset - a.offset >= aBytes) return false;
  // Column ranges of one matrix interleave without touching.
  const uint64_t pitch = std::max(pitchBytes(a), pitchBytes(b));
  if (pitch == 0) return true;
  if ((pitchBytes(a) != 0 && pitchBytes(a) != pitch) || (pitchBytes(b) != 0 && pitchBytes(b) != pitch)) return true;
  const uint64_t aStart = a.offset % pitch;
  const uint64_t bStart = b.offset % pitch;
  if (rowBytes(a) > pitch - aStart || rowBytes(b) > pitch - bStart) return true;
  return aStart < bStart + rowBytes(b) && bStart < aStart + rowBytes(a);
}

}  // namespace firn::blob
