// The file of a saved session: what it holds, writing it, and verifying it before anything is used.
// docs/snapshot_format.md describes every byte. Not here: sessions (session.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/hash.h"
#include "base/page_buffer.h"
#include "base/status.h"
#include "blob/reader.h"
#include "engine/kv_rows.h"

namespace firn::engine {

inline constexpr uint64_t kSnapshotMagic = 0x00504E534E524946;  ///< "FIRNSNP" and a zero
inline constexpr uint32_t kSnapshotMajor = 0;
inline constexpr uint32_t kSnapshotMinor = 2;

/// What rows depend on: those of another identity mean something else. Plain bytes, as in the file.
struct SnapshotIdentity {
  Hash128 modelHash;
  Hash128 weightsHash;  ///< packed weights, so also the split by lanes
  Hash128 programHash;  ///< what generate.<T> computes: ops, attributes, types and shapes of its tasks
  uint32_t targets;     ///< of all entries: bit t stands for the target of number t
  uint32_t arithmeticId;
  uint32_t lanes;
  uint32_t layers;
  uint32_t kvHeads;
  uint32_t headDim;
  uint32_t kvRows;
  uint32_t kvType;
  uint32_t vocab;
  uint32_t reserved0;

  static SnapshotIdentity of(const blob::Blob& blob);
};
static_assert(sizeof(SnapshotIdentity) == 88);

/// Head of the file; ids i32[tokens] and the packed rows follow, each at a multiple of 64 bytes.
struct SnapshotHeader {
  uint64_t magic;
  uint32_t formatMajor;
  uint32_t formatMinor;
  Hash128 contentHash;  ///< XXH3-128 of the whole file, this field as zero
  SnapshotIdentity identity;
  uint32_t tokens;
  uint32_t exactTokens;  ///< rows from here on are derived; `tokens` when none is
  uint64_t rowBytes;     ///< of one row of one head, its scale included
  uint64_t fileBytes;
  uint8_t reserved0[48];
};
static_assert(sizeof(SnapshotHeader) == 192);

/// A verified snapshot: views into the bytes it was parsed from.
struct SnapshotView {
  std::span<const int32_t> ids;
  uint32_t exactTokens = 0;
  std::span<const std::byte> rows;  ///< packed, see KvLayout
};

/// What a snapshot is made from.
struct SnapshotContents {
  SnapshotIdentity identity;
  KvLayout layout;
  std::span<const int32_t> ids;
  uint32_t exactTokens = 0;
  std::span<const std::byte> cache;
};

/// Writes `path` through a temporary file and a rename. Only the valid rows of each head are written.
Status writeSnapshot(const std::string& path, const SnapshotContents& contents);

/// Reads the whole file into memory of its own, so that a change of the file under us cannot matter. not_found, io, or
/// (as parseSnapshot says it) version_mismatch or corrupt when it is larger than any snapshot of this model.
Result<PageBuffer> readSnapshot(const std::string& path, const SnapshotIdentity& identity, const KvLayout& layout);

/// Reads the header of `path` alone, and compares its identity with what `addKnown` knows of the model that shall load
/// it: it gets the file's own and overwrites fields. not_found, io, corrupt, or version_mismatch as parseSnapshot.
Status checkSnapshot(const std::string& path, const std::function<void(SnapshotIdentity&)>& addKnown);

/// Bytes of a snapshot of `tokens` tokens.
uint64_t snapshotBytes(const KvLayout& layout, uint32_t tokens);

/// Verifies everything: sizes, padding, hash, identity, ids. `file` must be 8-byte aligned. corrupt: the bytes
/// contradict themselves; version_mismatch: another format (both named) or another identity (the differing field is
/// named, with both values).
Result<SnapshotView> parseSnapshot(std::span<const std::byte> file, const SnapshotIdentity& identity,
                                   const KvLayout& layout);

/// Puts the right contentHash into the header of `file`.
void sealSnapshot(std::span<std::byte> file);

}  // namespace firn::engine
